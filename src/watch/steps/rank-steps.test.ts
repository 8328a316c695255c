import { expect, it } from 'vitest';
import { EventLines } from '../../readers/events/event-lines.js';
import { RankSteps } from './rank-steps.js';
import type { StepSummary } from './step-summary.js';

function read(lines: readonly object[], rank = -1) {
  const seen: string[] = [];
  const steps: StepSummary[] = [];
  const follower = new RankSteps(rank, {
    begin: (r, { run }) => void seen.push(`begin ${r} ${run}`),
    step: (r, step) => {
      seen.push(`${r}:${step.step}`);
      steps.push(step);
    },
  });
  const reader = new EventLines(() => follower);
  reader.push(Buffer.from(lines.map((l) => `${JSON.stringify(l)}\n`).join('')));
  follower.flush();
  return { seen, steps };
}

const header = (run: string) => ({ whyslow: 1, run, rank: 3, anchors: [{ wall_ns: 1e18 }] });
const record = (name: string, step: number, start_ms: number, duration_ms: number, more = {}) => ({
  name,
  step,
  rank: 3,
  start_ms,
  duration_ms,
  ...more,
});

it('records become steps: phases summed, collectives taken out of the pass that holds them', () => {
  const { steps } = read([
    header('a'),
    record('data_wait', 7, 0, 1),
    record('data_wait', 7, 1, 2),
    record('forward', 7, 3, 10),
    record('backward', 7, 13, 20),
    record('collective:all_reduce', 7, 25, 8),
    record('training_step', 7, 0, 40, { outside_ms: { checkpoint: 12 } }),
  ]);
  expect(steps).toHaveLength(1);
  expect(steps[0]).toMatchObject({ step: 7, start: 0, whole: 40, disturbed: false });
  expect(Object.fromEntries(steps[0]!.phases)).toEqual({
    data_wait: 3,
    forward: 10,
    backward: 12,
    'collective:all_reduce': 8,
  });
  expect(Object.fromEntries(steps[0]!.outside)).toEqual({ checkpoint: 12 });
});

it('a second header, or steps that go back, begin anew', () => {
  const step = (n: number) => record('training_step', n, n, 1);
  const { seen } = read([header('a'), step(1), step(2), header('b'), step(1), step(2), step(1)]);
  expect(seen).toEqual(['begin 3 a', '3:1', '3:2', 'begin 3 b', '3:1', '3:2', 'begin 3 b', '3:1']);
});

it('a writer that flushes phase by phase gives whole steps', () => {
  const bare = (name: string, step: number) => ({ name, step, rank: 0, duration_ms: 5 });
  const phases = ['forward', 'backward'].flatMap((name) => [10, 20, 30].map((step) => bare(name, step)));
  const { steps } = read(phases, 0);
  expect(steps.map((s) => [s.step, s.whole, s.phases.size])).toEqual([
    [10, 10, 2],
    [20, 10, 2],
    [30, 10, 2],
  ]);
});

it('a job that names its phases by step does not fill the memory', () => {
  const { steps } = read([
    header('a'),
    ...Array.from({ length: 500 }, (_, i) => record(`phase ${i}`, 1, i, 1)),
    record('training_step', 1, 0, 500),
  ]);
  expect(steps[0]!.phases.size).toBeLessThanOrEqual(32);
  expect(steps[0]!.whole).toBe(500);
});
