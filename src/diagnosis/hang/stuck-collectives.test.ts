import { describe, expect, it } from 'vitest';
import type { Claim } from '../../answers/kit/claim.js';
import { whoIsMissing } from '../../answers/kit/hang-words.js';
import { hangAnswer } from '../../answers/run/hang.js';
import { share } from '../../base/units.js';
import type { DumpedCollective } from '../../model/flight-dump.js';
import type { ProcessStacks } from './process-stacks.js';
import { type RankDump, type StuckCollective, stuckCollectives } from './stuck-collectives.js';

const entry = (sequence: number, more: Partial<DumpedCollective> = {}): DumpedCollective => ({
  group: '0',
  description: 'default_pg',
  sequence,
  name: 'nccl:all_reduce',
  sizes: '[[4]]',
  isDone: true,
  hasStarted: null,
  enteredNs: sequence,
  calledFrom: null,
  ...more,
});
/** A rank that is done with collectives 1 to `done`, and waits in those after it. */
const rank = (
  number: number,
  done: number,
  pending: readonly DumpedCollective[] = [],
  members: number[] = [],
): RankDump => ({
  rank: number,
  dump: {
    groups: members.length > 0 ? [{ name: '0', description: 'default_pg', ranks: members }] : [],
    collectives: [...Array.from({ length: done }, (_, i) => entry(i + 1)), ...pending],
  },
});
const waiting = (sequence: number, more: Partial<DumpedCollective> = {}) =>
  entry(sequence, { isDone: false, ...more });
const answer = (stuck: readonly StuckCollective[], stacks: readonly ProcessStacks[] = []): Claim | null =>
  hangAnswer({ evidence: { stuck, stacks }, job: { processes: new Map() } });
const words = (...dumps: RankDump[]) => stuckCollectives(dumps).map(whoIsMissing);

describe('who is missing', () => {
  it('is the rank whose last collective is an earlier one', () => {
    const dumps = [rank(0, 3, [waiting(4), waiting(5)]), rank(1, 3, [waiting(4)]), rank(2, 3)];
    expect(words(...dumps)).toEqual([
      'rank 2 has not entered all_reduce #4 of default_pg, where ranks 0–1 wait',
    ]);
    expect(stuckCollectives(dumps)[0]!.missing[0]!.last!.sequence).toBe(3);
    expect(answer(stuckCollectives(dumps))).toMatchObject({
      bottleneck: 'comms',
      confidence: 0.9,
    });
  });

  it('is charged to what the missing rank does, where its stack was dumped too', () => {
    const stuck = stuckCollectives([rank(0, 3, [waiting(4)]), rank(2, 3)]);
    const at = 'train.py:9 in load';
    const states = [{ doing: 'input-wait', call: 'get', at, share: share(1) }] as const;
    const stacks = [
      { rank: 2, pid: 7, kind: 'dump', states, samples: 1, isActive: false, hasMoved: null, workers: [] },
    ] as const;
    const verdict = answer(stuck, stacks);
    expect(verdict).toMatchObject({ bottleneck: 'data', confidence: 0.9 });
    expect(verdict!.words.headline).toMatch(
      /rank 0 waits; rank 2 waits for a DataLoader worker \(train\.py:9 in load\)$/,
    );
  });

  it('is a member that entered nothing, and perhaps one without a dump', () => {
    const dumps = [rank(0, 0, [waiting(1)], [0, 1, 2]), { rank: 1, dump: { groups: [], collectives: [] } }];
    const [stuck] = stuckCollectives(dumps);
    expect(stuck!.missing).toEqual([{ rank: 1, last: null }]);
    expect(stuck!.unknown).toEqual([2]);
    expect(words(rank(0, 2, [waiting(3)], [0, 4]))).toEqual([
      'rank 0 waits in all_reduce #3 of default_pg, and rank 4 left no dump: its process may be gone',
    ]);
  });

  it('is nobody if all are in it', () => {
    const all = [rank(0, 1, [waiting(2)]), rank(1, 1, [waiting(2)])];
    expect(words(...all)).toEqual([
      'all of ranks 0–1 have entered all_reduce #2 of default_pg, and none has finished',
    ]);
    expect(answer(stuckCollectives(all))).toBeNull();
    expect(words(rank(0, 3), rank(1, 2))).toEqual([]);
  });

  it('may be a rank in another collective, or with other sizes', () => {
    const other = waiting(4, { name: 'nccl:broadcast' });
    expect(words(rank(0, 3, [waiting(4)]), rank(1, 3, [other]))[0]).toMatch(
      /different collectives at #4.*rank 0 nccl:all_reduce \[\[4\]\]; rank 1 nccl:broadcast/,
    );
    const sizes = waiting(4, { sizes: '[[8]]' });
    expect(words(rank(0, 3, [waiting(4)]), rank(1, 3, [sizes]))[0]).toMatch(/different/);
  });

  it('a stuck collective is reported per group, the one that is stuck first', () => {
    const tp = { group: '1', description: 'tp', enteredNs: 1 };
    const dumps = [
      rank(0, 3, [waiting(4), waiting(1, tp)]),
      rank(1, 3),
      rank(2, 0, [entry(0, { ...tp, isDone: true })]),
    ];
    expect(words(...dumps)).toEqual([
      'rank 2 has not entered all_reduce #1 of tp, where rank 0 waits',
      'rank 1 has not entered all_reduce #4 of default_pg, where rank 0 waits',
    ]);
  });
});
