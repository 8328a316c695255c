import { describe, expect, it } from 'vitest';
import { hangAnswer } from '../../answers/run/hang.js';
import type { RasRank, RasStatus } from '../../model/ras-status.js';
import { hangOf } from './hang.js';
import { processStacks } from './process-stacks.js';
import { rasEvidence } from './ras.js';

/** A rank whose process is the `of`th of the job. Counts null: it did not answer. */
const rank = (rank: number, launched: RasRank['launched'], of = rank): RasRank => ({
  rank,
  host: 'a',
  pid: 100 + of,
  device: of,
  launched,
  isDead: false,
});
const communicator = (hash: string, ranks: readonly RasRank[]) => ({ hash, size: ranks.length, ranks });
const status = (at: string, ...communicators: RasStatus['communicators']): RasStatus => ({
  at: `2025-12-19 13:06:${at}`,
  communicators,
});
const headline = (...statuses: RasStatus[]) => {
  const { dumps, silent, isOneLook } = rasEvidence(statuses);
  const stacks = processStacks(silent);
  const evidence = { hang: hangOf(dumps), stacks, oftenLast: null, isStuck: false, isOneLook };
  return hangAnswer({ evidence, job: { processes: new Map() } })?.words.headline ?? null;
};
const reduced = (AllReduce: number) => ({ Broadcast: 1, AllReduce });

describe('answers of NCCL’s RAS', () => {
  it('name the rank that is behind, if two of them show the same counts', () => {
    const all = communicator('w', [rank(0, reduced(6)), rank(1, reduced(5)), rank(2, reduced(6))]);
    expect(headline(status('10', all), status('20', all))).toBe(
      'rank 1 has not entered AllReduce #7 of a communicator of 3 ranks, where ranks 0, 2 wait',
    );
  });

  it('name nobody if there is one, or counts that grow: collectives outpace RAS', () => {
    const at = (n: number) => communicator('w', [rank(0, reduced(n)), rank(1, reduced(n - 1))]);
    expect(headline(status('10', at(6)))).toMatch(/one answer of NCCL’s RAS does not show a hang/);
    expect(headline(status('10', at(6)), status('20', at(9)))).toBeNull();
  });

  it('name the rank that did not answer, from a single one', () => {
    const all = communicator('w', [rank(0, reduced(6)), rank(1, null), rank(2, reduced(6))]);
    expect(headline(status('10', all))).toMatch(/^ranks 0, 2 wait for rank 1 in .*; rank 1 did not answer/);
    const dead = communicator('w', [rank(0, reduced(6)), { ...rank(1, null), isDead: true }]);
    expect(headline(status('10', dead))).toMatch(/; rank 1 has ended/);
  });

  it('follow waits through smaller communicators by the process of each rank', () => {
    const world = communicator(
      'w',
      [0, 1, 2, 3].map((r) => rank(r, reduced(1))),
    );
    const pairs = [
      communicator('p', [rank(0, { AllGather: 9 }, 2), rank(1, { AllGather: 8 }, 3)]),
      communicator('q', [rank(0, { AllGather: 9 }, 0), rank(1, { AllGather: 9 }, 1)]),
    ];
    const both = [status('10', world, ...pairs), status('20', world, ...pairs)];
    expect(headline(...both)).toBe(
      'rank 3 has not entered AllGather #9 of a communicator of 2 ranks, where rank 2 waits',
    );
    // Without a communicator of all processes nobody's rank is known.
    expect(headline(status('10', ...pairs), status('20', ...pairs))).toBeNull();
  });
});
