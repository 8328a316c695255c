import { describe, expect, it } from 'vitest';
import { HEADER, readLog, steps } from '../events/testing.js';
import { fromEventLog } from './from-event-log.js';
import { matchCollectives } from './match.js';
import { COLLECTIVE_KINDS } from './rank-collectives.js';
import { divideWaits } from './waits.js';

const read = (...lines: readonly string[]) => fromEventLog(readLog(`${lines.join('\n')}\n`).runs[0]!);

describe('collectives of an events log', () => {
  it('are its records of that name, step by step', () => {
    const [only] = read(
      HEADER,
      ...steps(10, 11, () => [
        'forward 5',
        'collective:all_reduce 2',
        'collective:all_gather 1',
        'collective:all_reduce 3',
      ]),
    );
    const c = only!.collectives;
    expect(Array.from(c.kind, (k) => COLLECTIVE_KINDS[k])).toEqual([
      ...['all_reduce', 'all_reduce', 'all_gather', 'all_reduce', 'all_reduce', 'all_gather'],
    ]);
    expect(Array.from(c.end, (end, i) => (end - c.start[i]!) / 1e6)).toEqual([2, 3, 1, 2, 3, 1]);
    expect([c.steps, c.numbered, c.timed, [...c.step]]).toEqual([[10, 11], true, false, [0, 0, 0, 1, 1, 1]]);
  });

  it('tell who waited for whom', () => {
    const ms = (r: number) => (r === 1 ? 2 : 12);
    const lines = [0, 1, 2].flatMap((r) =>
      steps(0, 9, () => [`collective:all_reduce ${ms(r)} r${r}`, `training_step 50 r${r}`]),
    );
    const ranks = read(HEADER, ...lines).map((r) => ({ ...r, worldSize: null }));
    const matched = matchCollectives(ranks);
    expect([matched.length, [...matched.first].includes(1)]).toEqual([10, false]);
    expect(
      divideWaits(ranks, matched).ranks.map((r) => [r.rank, r.wait / 1e6, r.transfer / 1e6, r.cameLast]),
    ).toEqual([
      [0, 100, 20, 0],
      [1, 0, 20, 10],
      [2, 100, 20, 0],
    ]);
  });

  it('are none where there are none', () => {
    expect(read(HEADER, ...steps(0, 3, () => ['training_step 5']))).toEqual([]);
  });
});
