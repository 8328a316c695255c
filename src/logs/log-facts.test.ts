import { describe, expect, it } from 'vitest';
import { analyze, HEADER, steps } from '../../test/helpers/logs.js';
import { unprofiledLog } from './log-facts.js';

const stepWithout = (...args: Parameters<typeof unprofiledLog>) => unprofiledLog(...args)?.step ?? null;

const run = (count: number, ms: number, rank = 0) =>
  steps(0, count - 1, () => [`training_step ${ms} r${rank}`]);

describe('the unprofiled step for a trace', () => {
  it('the unprofiled step for a trace is that of the last run of the rank', () => {
    const facts = analyze(run(5, 40), run(4, 20), HEADER, run(3, 12, 1));
    expect(stepWithout(facts, 0)).toBe(20e6);
    expect(stepWithout(facts, 1)).toBe(12e6);
    expect(stepWithout(facts, 2)).toBeNull();
    expect(stepWithout([], 0)).toBeNull();
  });

  it('needs three steps, and does not go back to an earlier run for them', () => {
    expect(stepWithout(analyze(run(2, 40)), 0)).toBeNull();
    expect(stepWithout(analyze(run(5, 40), run(2, 20)), 0)).toBeNull();
  });

  it('the unprofiled step for a trace is that of the only rank where one side does not know its own', () => {
    const unknown = steps(0, 4, () => ['training_step 30 r-1']);
    expect(stepWithout(analyze(unknown), 3)).toBe(30e6);
    expect(stepWithout(analyze(run(5, 40, 7)), -1)).toBe(40e6);
    expect(stepWithout(analyze(run(5, 40, 7), run(5, 40, 8)), -1)).toBeNull();
  });

  it('the unprofiled step for a trace is not one that may leave out the input that the trace waits for', () => {
    const without = analyze(run(5, 40));
    expect(stepWithout(without, 0, 1e6)).toBe(40e6);
    expect(stepWithout(without, 0, 100e6)).toBeNull();
    const withInput = analyze(
      HEADER,
      steps(0, 4, () => ['data_wait 100', 'training_step 40']),
    );
    expect(stepWithout(withInput, 0, 100e6)).toBe(140e6);
  });
});
