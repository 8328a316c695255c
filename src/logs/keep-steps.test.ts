import { expect, it } from 'vitest';
import { HEADER, readLog, steps } from '../../test/helpers/logs.js';
import { keepSteps } from './keep-steps.js';

const log = readLog(`${[HEADER, ...steps(0, 99, () => ['data_wait 1', 'training_step 20'])].join('\n')}\n`);
const kept = (...args: [Parameters<typeof keepSteps>[1], number?]) => {
  const { log: chosen, notes } = keepSteps(log, ...args);
  const [run] = chosen.runs;
  return { steps: run ? [...new Set(run.step)] : [], rows: run?.rows, notes: notes.map((n) => n.message) };
};

it('keeps the steps of a range', () => {
  expect(kept(null)).toMatchObject({ rows: 200, notes: [] });
  expect(kept({ first: 10, last: 12 })).toEqual({ steps: [10, 11, 12], rows: 6, notes: [] });
  expect(kept({ first: 98, last: null }).steps).toEqual([98, 99]);
  expect(kept({ first: null, last: 1 }).steps).toEqual([0, 1]);
  expect(kept({ first: 500, last: null }).steps).toEqual([]);
});

it('keeps the last of many steps, with a note', () => {
  expect(kept(null, 2)).toEqual({
    steps: [98, 99],
    rows: 4,
    notes: ['only the last 2 of 100 recorded steps were analyzed'],
  });
  expect(kept({ first: null, last: 50 }, 3).steps).toEqual([48, 49, 50]);
});

it('keeps all columns parallel', () => {
  const [run] = keepSteps(log, { first: 10, last: 10 }).log.runs;
  const columns = [run!.name, run!.step, run!.rank, run!.durationMs, run!.startMs, run!.micro, run!.clock];
  for (const column of [...columns, run!.hostMs, run!.lagMs]) expect(column).toHaveLength(2);
  expect([...run!.durationMs]).toEqual([1, 20]);
});
