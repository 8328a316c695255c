import { describe, expect, it } from 'vitest';
import { readScript } from '../python/read-script.js';
import { Regions } from './regions.js';

/** Which of the calls `here()` runs in every training step. */
function perStep(text: string): boolean {
  const script = readScript(text);
  const regions = new Regions(script);
  const here = script.calls.find((call) => call.name === 'here')!;
  return regions.isPerStep(here.node, here.block);
}

const loop = (...lines: string[]) =>
  [
    'for x in data:',
    '    loss.backward()',
    '    optimizer.step()',
    ...lines.map((line) => `    ${line}`),
  ].join('\n');

describe('what runs in every step', () => {
  it.each([
    ['the body of the loop', loop('here()')],
    ['a loop in it', loop('for p in params:', '    here()')],
    ['on one rank', loop('if dist.get_rank() == 0:', '    here()')],
    ['a condition itself', loop('if here():', '    pass')],
    ['the other branch of a rare one', loop('if step % 10 == 0:', '    pass', 'else:', '    here()')],
    ['a function that it calls', `def f():\n    here()\n${loop('f()')}`],
    [
      'a function with the step, called in a loop',
      'def f(x):\n    loss.backward()\n    here()\nfor x in data:\n    f(x)',
    ],
    ['the loop around such a call', 'def f(x):\n    loss.backward()\nfor x in data:\n    f(x)\n    here()'],
    [
      'a method',
      'class T:\n    def g(self):\n        here()\n    def fit(self):\n        for x in d:\n            loss.backward()\n            self.g()',
    ],
    [
      'after gradients were accumulated',
      'for i, x in data:\n    loss.backward()\n    if i % 4 == 0:\n        optimizer.step()\n        here()',
    ],
    [
      'after micro-batches that skip the update',
      'for i, x in data:\n    loss.backward()\n    if i % 4:\n        continue\n    optimizer.step()\n    here()',
    ],
    [
      'the forward of a module',
      `class M(nn.Module):\n    def forward(self, x):\n        here()\n${loop('pass')}`,
    ],
    [
      'a hook of Lightning',
      'class M(pl.LightningModule):\n    def training_step(self, b, i):\n        here()',
    ],
  ])('%s', (_, text) => expect(perStep(text)).toBe(true));

  it.each([
    ['before the loop', `here()\n${loop('pass')}`],
    ['every so many steps', loop('if step % 10 == 0:', '    here()')],
    ['in an expression', loop('x = here() if step % 10 == 0 else None')],
    ['when a flag says so', loop('if args.debug:', '    here()')],
    ['before giving up', loop('if bad:', '    here()', '    raise ValueError')],
    ['after a step that is skipped', loop('if step % 10 != 0:', '    continue', 'here()')],
    ['in a handler', loop('try:', '    f()', 'except E:', '    here()')],
    ['in the loop over epochs', `for e in range(3):\n    for x in d:\n        loss.backward()\n    here()`],
    ['in a loop that evaluates', `for x in val:\n    here()\n${loop('pass')}`],
    ['in a function called now and then', `def f():\n    here()\n${loop('if i % 9 == 0:', '    f()')}`],
    ['in one that evaluates', `def evaluate():\n    here()\n${loop('evaluate()')}`],
    ['in one that only is defined', `def f():\n    here()\n${loop('pass')}`],
    ['in a script that does not train', 'for x in data:\n    here()'],
    [
      'in a hook for validation',
      'class M(pl.LightningModule):\n    def validation_step(self, b, i):\n        here()',
    ],
    ['in one step that stands alone', 'def demo():\n    loss.backward()\n    here()\ndemo()'],
  ])('not %s', (_, text) => expect(perStep(text)).toBe(false));
});
