import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { iterationWords } from '../facts/job-time.js';
import type { EventLogRun } from '../model/event-log.js';
import { inOneUnit, iterationOf } from './iteration.js';

const ROLLOUT = { optimizer_steps: 4, optimizers: 2, backward_passes: 4, varies: false, rollout: true };

function runOf(steps: readonly number[], iteration: unknown): EventLogRun {
  const column = Float64Array.from(steps);
  const columns = ['name', 'rank', 'micro', 'durationMs', 'startMs', 'clock', 'hostMs', 'lagMs', 'profiler'];
  return {
    ...Object.fromEntries(columns.map((name) => [name, column])),
    ...{ rows: steps.length, step: column, header: { fields: { iteration } } },
    outside: { step: new Float64Array(), rank: new Int32Array(), name: [], ms: [] },
  } as never;
}

const kept = (steps: readonly number[], from: number) => [
  ...inOneUnit({ runs: [runOf(steps, { ...ROLLOUT, from_step: from })] }).runs[0]!.step,
];

describe('what a step is', () => {
  it('leaves out steps that were counted before the iteration was known', () => {
    expect(kept([0, 1, 2, 3, 9, 10, 11], 9)).toEqual([9, 10, 11]);
    expect(kept([0, 1, 2, 3], 0)).toEqual([0, 1, 2, 3]);
  });

  it('keeps them where they are the better evidence, and then says nothing', () => {
    expect(kept([0, 1, 2, 3, 9, 10], 9)).toEqual([0, 1, 2, 3, 9, 10]);
    expect(iterationOf(runOf([0, 1, 9], { ...ROLLOUT, from_step: 9 }))).toBeNull();
  });

  it.each([
    [ROLLOUT, 'a rollout and 4 optimizer steps of 2 optimizers'],
    [{ ...ROLLOUT, optimizers: 1, varies: true }, 'a rollout and about 4 optimizer steps'],
    [{ ...ROLLOUT, optimizer_steps: 6, rollout: false }, '6 optimizer steps of 2 optimizers'],
    [{ optimizer_steps: 1, optimizers: 1, backward_passes: 8 }, '1 optimizer step after 8 backward passes'],
  ])('%j', (fields, words) => {
    expect(iterationWords(iterationOf(runOf([0, 1], { ...fields, from_step: 0 }))!)).toBe(words);
  });

  it('a step is nothing special or can be described, whatever the header holds', () => {
    const value = fc.oneof(fc.double(), fc.constantFrom(null, 'x', [], -1, 1e300, true), fc.integer());
    const fields = fc.record({
      from_step: value,
      optimizer_steps: value,
      optimizers: value,
      backward_passes: value,
    });
    fc.assert(
      fc.property(fc.oneof(value, fields), (iteration) => {
        const found = iterationOf(runOf([3, 4, 5], iteration));
        if (found)
          expect(iterationWords(found)).toMatch(
            /^\d+ optimizer steps?( of \d+ optimizers)?( after \d+ backward passes)?$/,
          );
      }),
    );
  });
});
