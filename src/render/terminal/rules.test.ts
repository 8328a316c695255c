import { describe, expect, it } from 'vitest';
import type { RuleInfo } from '../../rules/kit/rule.js';
import { RULES } from '../../rules/rules.js';
import { renderRule, renderRuleList } from './rules.js';
import { displayWidth } from './text.js';

const LOADER: RuleInfo = {
  id: 'num-workers-zero',
  alias: 'T4',
  title: 'num_workers=0 loads every batch on the main thread',
  needs: 'trace',
  looksFor: '_SingleProcessDataLoaderIter in the time the GPU is idle, in most of the steps.',
  why: 'While the main thread reads and transforms, it launches nothing, and the GPU has nothing to do.',
  remedy: 'loader-workers',
  fix: {
    text: 'Start at one worker a core, less one; each takes memory of its own.',
    code: 'DataLoader(\n    ..., num_workers=8,\n    persistent_workers=True,\n)',
  },
  check: 'The order of samples stays the same with the same sampler and seed; random transforms may differ.',
  cost: 'knob',
  risk: 'memory',
  thresholds: [
    {
      name: 'exposed share',
      value: 0.1,
      unit: 'of the step',
      source: 'the least a verdict names, method.md',
    },
    { name: 'steps', value: 2, unit: '', source: 'one may be the first of an epoch' },
  ],
};
const CAPTURE: RuleInfo = {
  ...LOADER,
  id: 'capture-more',
  alias: null,
  title: 'The evidence at hand does not decide: which capture would, and the command for it',
  needs: 'nothing, but a trace, /proc or py-spy helps',
  fix: { text: 'Capture a trace.', code: '' },
  cost: null,
  risk: 'none',
  thresholds: [],
};

const wide = (text: string, width: number) => text.split('\n').filter((l) => displayWidth(l) > width);

describe('rules for the terminal', () => {
  it('lists them', () => {
    expect(renderRuleList([LOADER, CAPTURE], { color: false })).toMatchInlineSnapshot(`
      "  rule                  cost  title
        num-workers-zero  T4  knob  num_workers=0 loads every batch on the main thread
        capture-more          –     The evidence at hand does not decide: which
                                    capture would, and the command for it

        Reports name rules by number: T1–T23 are those of the throughput guide, W1–W6
        are whyslow’s own. Rules that share a number fix parts of one fault. \`whyslow
        rules num-workers-zero\` or \`whyslow rules T4\` shows one in full.
      "
    `);
  });

  it('shows one in full', () => {
    expect(renderRule(LOADER, { color: false })).toMatchInlineSnapshot(`
      "num-workers-zero (T4)  num_workers=0 loads every batch on the main thread

        needs        trace
        looks for    _SingleProcessDataLoaderIter in the time the GPU is idle, in most
                     of the steps.
        why          While the main thread reads and transforms, it launches nothing,
                     and the GPU has nothing to do.
        fix          Start at one worker a core, less one; each takes memory of its
                     own.
                     DataLoader(
                         ..., num_workers=8,
                         persistent_workers=True,
                     )
        cost         knob: an argument
        risk         memory: it takes more memory
        still right? The order of samples stays the same with the same sampler and
                     seed; random transforms may differ.
        thresholds   exposed share 10% of the step (the least a verdict names,
                     method.md)
                     steps 2 (one may be the first of an epoch)
      "
    `);
  });

  it('leaves out what a rule does not have', () => {
    const text = renderRule(CAPTURE, { color: false });
    expect(text).not.toMatch(/thresholds|cost/);
  });

  it.each([80, 50])('fits %i columns', (columns) => {
    const options = { color: false, columns };
    expect(
      wide(
        renderRuleList(
          RULES.map((r) => r.info),
          options,
        ),
        columns,
      ),
    ).toEqual([]);
    expect(wide(renderRuleList([LOADER, CAPTURE], options), columns)).toEqual([]);
    expect(wide(renderRule(LOADER, options) + renderRule(CAPTURE, options), columns)).toEqual([]);
  });

  it('lists nothing without failing', () => {
    expect(renderRuleList([], { color: false })).toContain('rule');
  });
});

it('shows what else is good to know, and nothing where there is none', () => {
  expect(renderRule({ ...LOADER, more: 'Needs fork.' }, { color: false })).toMatch(
    /\n {2}more {9}Needs fork\.\n/,
  );
  expect(renderRule(LOADER, { color: false })).not.toMatch(/^ {2}more/m);
});
