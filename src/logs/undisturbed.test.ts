import { describe, expect, it } from 'vitest';
import { HEADER, readLog, steps } from '../../test/helpers/logs.js';
import { analyzeEventLog } from './event-facts.js';
import { keepSteps } from './keep-steps.js';
import { unprofiledLog } from './log-facts.js';

/** A step takes 10 ms by itself, 15 with a profiler attached, 30 while it records. */
const alone = (from: number, to: number) => steps(from, to, () => ['training_step 10']);
const attached = (from: number, to: number) => steps(from, to, () => ['training_step 15 !attached']);
const recording = (from: number, to: number) => steps(from, to, () => ['training_step 30 !recording']);

function kept(...lines: readonly (readonly string[])[]) {
  const { log, notes } = keepSteps(readLog(`${[HEADER, ...lines.flat()].join('\n')}\n`), null);
  const facts = analyzeEventLog(log);
  return {
    ms: facts.map((f) => f.medianStep / 1e6),
    disturbedBy: facts.map((f) => f.disturbedBy),
    notes: notes.map((n) => `${n.severity} ${n.code}: ${n.message}`),
    joined: unprofiledLog(facts, 0) !== null,
  };
}

describe('steps that a profiler made slower', () => {
  it('do not count if there are others', () => {
    expect(kept(alone(0, 9), recording(10, 12), attached(13, 40))).toEqual({
      ms: [10],
      disturbedBy: [null],
      notes: ['note profiled-steps: 31 steps ran with a profiler attached or recording'],
      joined: true,
    });
  });

  it('count, with a warning, if there is nothing else', () => {
    expect(kept(alone(0, 1), recording(2, 4), attached(5, 40))).toEqual({
      ms: [15],
      disturbedBy: ['attached'],
      notes: [
        'note profiled-steps: 3 steps ran with a profiler attached or recording',
        'warning step-with-profiler: only 2 steps ran without a profiler',
      ],
      joined: true,
    });
  });

  it('steps that a profiler made slower are no measurement without a profiler if it was recording', () => {
    expect(kept(recording(0, 20))).toEqual({
      ms: [30],
      disturbedBy: ['recording'],
      notes: [
        'warning step-with-profiler: only 0 steps ran without a profiler',
        'note profiler-left-on: a profiler of the job recorded 21 of 21 steps',
      ],
      joined: false,
    });
  });

  it('steps that a profiler made slower are most of a job that leaves its own profiler on', () => {
    const left = (...lines: readonly (readonly string[])[]) =>
      kept(...lines).notes.filter((note) => note.includes('profiler-left-on'));
    expect(left(alone(0, 9), recording(10, 20))).toEqual([
      'note profiler-left-on: a profiler of the job recorded 11 of 21 steps',
    ]);
    expect(left(alone(0, 9), recording(10, 19))).toEqual([]);
  });

  it('a log without marks has no steps that a profiler made slower', () => {
    expect(kept(alone(0, 2))).toEqual({ ms: [10], disturbedBy: [null], notes: [], joined: true });
  });

  it('count if the user selects them', () => {
    const log = readLog(`${[HEADER, ...alone(0, 9), ...attached(10, 40)].join('\n')}\n`);
    const facts = analyzeEventLog(keepSteps(log, { first: 20, last: 30 }).log);
    expect(facts.map((f) => [f.first, f.last])).toEqual([[20, 30]]);
  });
});
