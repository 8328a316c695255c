import { describe, expect, it } from 'vitest';
import type { EventLog } from '../model/event-log.js';
import { withoutDenseHead } from './keep-steps.js';

const DENSE = 20;
const head = Array.from({ length: DENSE }, (_, i) => i);
const logOf = (steps: readonly number[], dense = DENSE): EventLog => {
  const column = () => new Float64Array(steps.length);
  const run = {
    id: 'r',
    rows: steps.length,
    step: Int32Array.from(steps),
    names: ['training_step'],
    header: { denseSteps: dense },
  };
  for (const name of [
    'name',
    'rank',
    'micro',
    'durationMs',
    'startMs',
    'clock',
    'hostMs',
    'lagMs',
    'profiler',
  ])
    Object.assign(run, { [name]: column() });
  const none = new Float64Array(0);
  Object.assign(run, { outside: { step: none, rank: none, name: none, ms: none } });
  return { runs: [run as never] };
};
const kept = (log: EventLog) => [...withoutDenseHead(log).runs[0]!.step];
const everyTenth = (until: number) => Array.from({ length: until / 10 - 2 }, (_, i) => 20 + 10 * i + (i % 7));

describe('the densely recorded head of a log', () => {
  it('the densely recorded head of a log is left out of a longer run', () => {
    expect(kept(logOf([...head, ...everyTenth(400)]))).toEqual(everyTenth(400));
  });

  it('the densely recorded head of a log is used when the run is short', () => {
    expect(kept(logOf(head))).toEqual(head);
    expect(kept(logOf([...head, 24, 31, 45]))).toEqual([...head, 24, 31, 45]);
  });

  it('stays where the rest is too thin', () => {
    expect(kept(logOf([...head, ...everyTenth(200)]))).toEqual([...head, ...everyTenth(200)]);
  });

  it('the densely recorded head of a log is left out where later steps are not like it', () => {
    const run = (laterMs: number) => {
      const log = logOf([...head, ...everyTenth(120)]);
      log.runs[0]!.durationMs.fill(10, 0, DENSE).fill(laterMs, DENSE).fill(500, 0, 2);
      return kept(log);
    };
    expect(run(15)).toEqual(everyTenth(120));
    expect(run(6)).toEqual(everyTenth(120));
    expect(run(12)).toHaveLength(DENSE + everyTenth(120).length);
  });

  it('stays where a profiler was attached ever since', () => {
    const log = logOf([...head, ...everyTenth(200)]);
    log.runs[0]!.profiler.fill(1, DENSE);
    expect(kept(log)).toHaveLength(head.length + 18);
  });

  it('other logs have no densely recorded head', () => {
    expect(kept(logOf([...head, ...everyTenth(200)], 0))).toHaveLength(head.length + 18);
  });
});
