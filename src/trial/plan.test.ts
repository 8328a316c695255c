import { describe, expect, it } from 'vitest';
import { TRIALS } from '../remedies/remedies.js';
import { planFixes } from './plan.js';

const speedup = { low: 1.5, likely: 2, high: 3 };
const finding = (id: string) => ({ id, rule: 'T0', speedup });
const idsOf = (plan: ReturnType<typeof planFixes>) => plan.map(({ fix }) => fix.id);

describe('the fixes to try', () => {
  it('are those that findings ask for, in the order of the findings', () => {
    const plan = planFixes([finding('launch-bound'), finding('tf32-off'), finding('host-sync')], {});
    expect(idsOf(plan)).toEqual(['compile', 'fused-optimizer', 'compile-graphs', 'tf32']);
    expect(plan.map(({ predicted }) => predicted)).toEqual([speedup, null, null, speedup]);
    expect(plan[1]!.because?.id).toBe('launch-bound');
  });

  it('are all of them with --all, those of findings first', () => {
    const ids = idsOf(planFixes([finding('gc-time')], { all: true }));
    expect(ids[0]).toBe('gc-frozen');
    expect(new Set(ids)).toEqual(new Set(TRIALS.map(({ id }) => id)));
  });

  it('are those named with --only, with their predictions', () => {
    const plan = planFixes([finding('tf32-off')], { only: ['gc-frozen', 'tf32'] });
    expect(idsOf(plan)).toEqual(['gc-frozen', 'tf32']);
    expect(plan.map(({ predicted }) => predicted)).toEqual([null, speedup]);
  });

  it('are known: a mistyped name gets a hint', () => {
    expect(() => planFixes([], { only: ['tf23'] })).toThrow('there is no fix "tf23"');
    expect(() => planFixes([], { only: ['fused-optimiser'] })).toThrow('did you mean fused-optimizer?');
  });
});
