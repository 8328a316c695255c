import { expect, it } from 'vitest';
import { checkZeroGrad } from './checks/optimizer.js';
import { lintFile } from './lint-script.js';

it('goes on after a check that throws, and says so', () => {
  const fails = () => {
    throw new Error('no such thing');
  };
  const { findings, problems } = lintFile('a.py', 'o.zero_grad(set_to_none=False)\n', [fails, checkZeroGrad]);
  expect(findings.map((f) => f.id)).toEqual(['zero-fill']);
  expect(problems).toEqual(['a check failed (no such thing); please report it']);
});

it.each([
  ['on the line', 'o.zero_grad(set_to_none=False)  # whyslow: ignore[T12]', 1],
  ['by name, among others', 'o.zero_grad(set_to_none=False)  # whyslow: ignore[T4, Zero-Fill]', 1],
  ['for all rules', 'o.zero_grad(set_to_none=False)  # whyslow: ignore', 1],
  ['above', '# whyslow: ignore[T12]\no.zero_grad(set_to_none=False)', 1],
  ['on any line of the call', 'o.zero_grad(\n    set_to_none=False,  # whyslow: ignore[T12]\n)', 1],
  ['not for another rule', 'o.zero_grad(set_to_none=False)  # whyslow: ignore[T4]', 0],
  ['not after the line above', 'x = 1  # whyslow: ignore\no.zero_grad(set_to_none=False)', 0],
])('comments turn rules off: %s', (_, text, ignored) => {
  const linted = lintFile('a.py', text);
  expect([linted.ignored, linted.findings.length]).toEqual([ignored, 1 - ignored]);
});
