import { describe, expect, it } from 'vitest';
import type { RuleInfo } from '../../rules/kit/rule.js';
import { renderRule, renderRuleList } from './rules.js';
import { displayWidth } from './width.js';

const LOADER: RuleInfo = {
  id: 'num-workers-zero',
  alias: 'T4',
  title: 'num_workers=0 loads every batch on the main thread',
  needs: 'trace',
  looksFor: '_SingleProcessDataLoaderIter in the time the GPU is idle, in most of the steps.',
  why: 'While the main thread reads and transforms, it launches nothing, and the GPU has nothing to do.',
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
  title: 'The evidence at hand cannot decide, and the next capture that would is named with its command',
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
      "  id   title                                      cost  needs
        T4   num_workers=0 loads every batch on the     knob  trace
             main thread
        T19  The evidence at hand cannot decide, and    –     nothing, but…y-spy helps
             the next capture that would is named with
             its command
      "
    `);
  });

  it('shows one in full', () => {
    expect(renderRule(LOADER, { color: false })).toMatchInlineSnapshot(`
      "T4  num_workers=0 loads every batch on the main thread

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
        risk         memory: it takes more of it
        still right? The order of samples stays the same with the same sampler and
                     seed; random transforms may differ.
        thresholds   exposed share 0.1 of the step (the least a verdict names,
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
    expect(wide(renderRuleList([LOADER, CAPTURE], options), columns)).toEqual([]);
    expect(wide(renderRule(LOADER, options) + renderRule(CAPTURE, options), columns)).toEqual([]);
  });

  it('lists nothing without failing', () => {
    expect(renderRuleList([], { color: false })).toContain('id  title');
  });
});
