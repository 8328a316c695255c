import { describe, expect, it } from 'vitest';
import type { Claim } from '../../answers/kit/claim.js';
import { whoIsMissing } from '../../answers/kit/hang-words.js';
import { hangAnswer } from '../../answers/run/hang.js';
import { share } from '../../base/units.js';
import type { DumpedCall, DumpedGroup } from '../../model/flight-dump.js';
import { hangOf } from './hang.js';
import type { ProcessStacks } from './process-stacks.js';
import type { RankDump } from './progress.js';

const call = (group: string, sequence: number, more: Partial<DumpedCall> = {}): DumpedCall => ({
  group,
  description: group,
  sequence,
  name: 'all_reduce',
  peer: null,
  sizes: '[[4]]',
  types: 'Float',
  isDone: true,
  enteredNs: sequence,
  durationMs: null,
  calledFrom: null,
  ...more,
});
const waiting = (group: string, sequence: number, more: Partial<DumpedCall> = {}) =>
  call(group, sequence, { isDone: false, ...more });
const p2p = (name: 'send' | 'recv', group: string, peer: number, sequence = 1) =>
  waiting(group, sequence, { name, peer });
const done = (group: string, count: number) => Array.from({ length: count }, (_, i) => call(group, i + 1));

const GROUPS: Readonly<Record<string, readonly number[]>> = { dp: [0, 1, 2] };
/** A rank with these calls. `groups`: all groups of the job and their members. */
function rank(number: number, calls: readonly DumpedCall[], groups = GROUPS): RankDump {
  const own = Object.entries(groups).filter(([, ranks]) => ranks.includes(number));
  const named: DumpedGroup[] = own.map(([name, ranks]) => ({
    name,
    description: name,
    ranks,
    entered: null,
  }));
  return { rank: number, dump: { groups: named, calls } };
}
const culprits = (...dumps: RankDump[]) => hangOf(dumps)?.culprits.map((c) => [c.rank, c.reason]);
const words = (...dumps: RankDump[]) => whoIsMissing(hangOf(dumps)!);
const answer = (dumps: readonly RankDump[], stacks: readonly ProcessStacks[] = []): Claim | null =>
  hangAnswer({
    evidence: { hang: hangOf(dumps), stacks, oftenLast: null, isStuck: false },
    job: { processes: new Map() },
  });

describe('the rank that holds up the others', () => {
  it('has not entered the collective in which they wait', () => {
    const dumps = [
      rank(0, [...done('dp', 3), waiting('dp', 4), waiting('dp', 5)]),
      rank(1, [...done('dp', 3), waiting('dp', 4)]),
      rank(2, done('dp', 3)),
    ];
    expect(words(...dumps)).toBe('rank 2 has not entered all_reduce #4 of dp, where ranks 0–1 wait');
    expect(answer(dumps)).toMatchObject({ bottleneck: 'comms', cause: 'stuck-collective', confidence: 0.9 });
  });

  it('is charged with what it does, if its stack was dumped too', () => {
    const dumps = [rank(0, [...done('dp', 3), waiting('dp', 4)]), rank(2, done('dp', 3))];
    const at = 'train.py:9 in load';
    const states = [{ doing: 'input-wait', call: 'get', at, share: share(1) }] as const;
    const stacks = [
      { rank: 2, pid: 7, kind: 'dump', states, samples: 1, isActive: false, hasMoved: null, workers: [] },
    ] as const;
    const verdict = answer(dumps, stacks);
    expect(verdict).toMatchObject({ bottleneck: 'data', confidence: 0.9 });
    expect(verdict!.words.headline).toMatch(/rank 2 waits for a DataLoader worker \(train\.py:9 in load\)$/);
  });

  it('left an empty dump', () => {
    expect(culprits(rank(0, [waiting('dp', 9)]), rank(1, []), rank(2, [waiting('dp', 9)]))).toEqual([
      [1, 'absent'],
    ]);
  });

  it('left no dump, and nobody else is missing', () => {
    const dumps = [rank(0, [waiting('dp', 3)]), rank(1, [waiting('dp', 3)])];
    expect(words(...dumps)).toBe(
      'ranks 0–1 wait in all_reduce #3 of dp, and rank 2 left no dump: its process may be gone',
    );
    expect(answer(dumps)?.confidence).toBe(0.7);
    // Of a job with many ranks a few dumps are enough, if they show who is missing.
    expect(culprits(rank(0, [waiting('dp', 3)]), rank(1, done('dp', 2)))).toEqual([[1, 'absent']]);
  });

  it('is found by the gap in the numbers of ranks if no dump names the members of groups', () => {
    const gloo = (number: number, calls: DumpedCall[]) => ({
      rank: number,
      dump: { groups: [{ name: 'tp', description: 'tp', ranks: [], entered: null }], calls },
    });
    expect(culprits(gloo(0, [waiting('tp', 3)]), gloo(2, done('tp', 2)))).toEqual([[2, 'absent']]);
    expect(culprits(gloo(0, [waiting('tp', 3)]), gloo(2, [waiting('tp', 3)]))).toEqual([[1, 'no-dump']]);
  });

  it('is not done with calls that the others are done with: its GPU stopped, and its host went on', () => {
    const ahead = [waiting('dp', 7), waiting('dp', 8)];
    const dumps = [rank(0, ahead), rank(1, ahead), rank(2, [waiting('dp', 3), ...ahead])];
    expect(culprits(...dumps)).toEqual([[2, 'behind']]);
    expect(words(...dumps)).toMatch(/^rank 2 is not done with earlier calls of dp, and ranks 0–1 wait/);
  });

  it('are two whose GPUs stopped one after the other: what others are done with, all have entered', () => {
    const groups = { dp: [0, 1, 2, 3] };
    const at = (r: number, first: number) =>
      rank(
        r,
        [3, 4, 5, 6, 7].filter((s) => s >= first).map((s) => waiting('dp', s)),
        groups,
      );
    expect(culprits(at(0, 7), at(1, 3), at(2, 5), at(3, 7))).toEqual([
      [1, 'behind'],
      [2, 'behind'],
    ]);
  });

  it('is nobody if all are in the call, or nobody waits', () => {
    const all = [rank(0, [waiting('dp', 2)]), rank(1, [waiting('dp', 2)]), rank(2, [waiting('dp', 2)])];
    expect(words(...all)).toBe('all of ranks 0–2 have entered all_reduce #2 of dp, and none has finished');
    expect(answer(all)).toBeNull();
    expect(hangOf([rank(0, done('dp', 3)), rank(1, done('dp', 2))])).toBeNull();
    expect(hangOf([])).toBeNull();
  });
});

describe('ranks of other groups that wait for the culprit', () => {
  // Two stages of two ranks: tensor groups 0–1 and 2–3, pipelines 0 → 2 and 1 → 3.
  const groups = { tp0: [0, 1], tp1: [2, 3], pp0: [0, 2], pp1: [1, 3] };

  it('are victims, also through a pipeline', () => {
    expect(
      culprits(
        rank(0, [p2p('recv', 'pp0', 1), waiting('tp0', 9)], groups),
        rank(1, [p2p('recv', 'pp1', 1), waiting('tp0', 9)], groups),
        rank(2, [waiting('tp1', 9), p2p('send', 'pp0', 0)], groups),
        rank(3, done('tp1', 8), groups),
      ),
    ).toEqual([[3, 'absent']]);
  });

  it('are victims if the culprit has sends that nobody receives', () => {
    expect(
      culprits(
        rank(0, [p2p('send', 'pp0', 1), ...done('tp0', 8)], groups),
        rank(1, [...done('tp0', 8), waiting('tp0', 9)], groups),
        rank(2, [p2p('recv', 'pp0', 0)], groups),
        rank(3, [p2p('recv', 'pp1', 0)], groups),
      ),
    ).toEqual([[0, 'absent']]);
  });

  it('are victims if they entered the call, and stand in an earlier one', () => {
    expect(
      culprits(
        rank(0, [waiting('tp0', 9)], groups),
        rank(1, [p2p('recv', 'pp1', 1), waiting('tp0', 9)], groups),
        rank(3, done('tp1', 8), groups),
      ),
    ).toEqual([[3, 'unmatched']]);
  });

  it('is the stage that receives before it sends, when stages of a pipeline wait for each other', () => {
    const stages = { pp: [0, 1, 2, 3] };
    const step = (stage: number): DumpedCall[] =>
      [
        ...(stage > 0 ? [p2p('recv', 'pp', stage - 1)] : []),
        ...(stage < 3 ? [p2p('send', 'pp', stage + 1), p2p('recv', 'pp', stage + 1)] : []),
        ...(stage > 0 ? [p2p('send', 'pp', stage - 1)] : []),
      ].map((c) => ({ ...c, isDone: true }));
    const steps = (stage: number) => [...step(stage), ...step(stage), ...step(stage)];
    const dumps = [
      rank(0, [...steps(0), p2p('send', 'pp', 1)], stages),
      rank(1, [...steps(1), p2p('recv', 'pp', 2)], stages),
      rank(2, [...steps(2), p2p('recv', 'pp', 1)], stages),
      rank(3, [...steps(3), p2p('recv', 'pp', 2)], stages),
    ];
    expect(culprits(...dumps)).toEqual([[1, 'order']]);
    expect(words(...dumps)).toBe(
      'rank 1 called recv in pp, where it waits for rank 2, in another order than before; ranks 0, 2–3 wait for it',
    );
    // Without earlier steps nothing shows what the order is.
    const first = dumps.map(({ rank: r, dump }) => rank(r, dump.calls.slice(-1), stages));
    expect(hangOf(first)).toMatchObject({ culprits: [], rings: [[1, 2]] });
  });

  it('wait for each other in a ring if two groups are entered in different orders', () => {
    const both = { a: [0, 1, 2], b: [0, 1, 2] };
    const steps = [call('a', 1), call('b', 1), call('a', 2), call('b', 2)];
    const usual = [...steps, waiting('a', 3)];
    const odd = [...steps, call('b', 3, { isDone: false })];
    expect(culprits(rank(0, usual, both), rank(1, odd, both), rank(2, usual, both))).toEqual([[1, 'order']]);
    // Nothing shows which order is the usual one.
    const two = { a: [0, 1], b: [0, 1] };
    const start = steps.slice(2);
    const ring = hangOf([
      rank(0, [...start, waiting('a', 3)], two),
      rank(1, [...start, waiting('b', 3)], two),
    ]);
    expect(ring).toMatchObject({ culprits: [], rings: [[0, 1]] });
    expect(whoIsMissing(ring!)).toMatch(/^ranks 0–1 wait for each other in a ring: rank 0 for rank 1 in/);
  });
});

describe('a rank that calls something else', () => {
  it.each([
    ['another collective', { name: 'broadcast' }],
    ['other sizes', { sizes: '[[8]]' }],
    ['another type', { types: 'Half' }],
  ])('is named: %s', (_, more) => {
    const usual = [...done('dp', 3), waiting('dp', 4)];
    const dumps = [rank(0, usual), rank(1, [...done('dp', 3), waiting('dp', 4, more)]), rank(2, usual)];
    expect(culprits(...dumps)).toEqual([[1, 'different']]);
    expect(words(...dumps)).toMatch(/^rank 1 calls .* at #4 of dp, where ranks 0, 2 call all_reduce/);
    expect(answer(dumps)).toMatchObject({ confidence: 0.9 });
  });

  it('is named among two if it never did so before', () => {
    const groups = { tp: [0, 1] };
    const loop = [1, 2, 3].flatMap((i) => [
      call('tp', 2 * i - 1),
      call('tp', 2 * i, { name: 'broadcast', sizes: '[[8]]' }),
    ]);
    const usual = rank(0, [...loop, waiting('tp', 7)], groups);
    const odd = rank(1, [...loop, waiting('tp', 7, { name: 'barrier', sizes: '' })], groups);
    expect(culprits(usual, odd)).toEqual([[1, 'different']]);
    const none = [
      rank(0, [waiting('tp', 7)], groups),
      rank(1, [waiting('tp', 7, { name: 'barrier' })], groups),
    ];
    expect(culprits(...none)).toEqual([]);
    expect(words(...none)).toMatch(
      /^ranks call different collectives at #7 of tp: rank 0 .*; rank 1 barrier/,
    );
  });

  it('may gather or scatter other sizes', () => {
    const gather = (sizes: string) => waiting('dp', 1, { name: '_all_gather_base', sizes });
    expect(hangOf([rank(0, [gather('[[1]]')]), rank(1, [gather('[[2]]')]), rank(2, [])])).toMatchObject({
      different: null,
      culprits: [{ rank: 2 }],
    });
  });
});

describe('thousands of ranks', () => {
  it('are followed in a chain without overflow', () => {
    const count = 5000;
    const groups = Object.fromEntries(Array.from({ length: count - 1 }, (_, i) => [`p${i}`, [i, i + 1]]));
    const dumps = Array.from({ length: count }, (_, i) => ({
      rank: i,
      dump: {
        groups: [`p${i - 1}`, `p${i}`].flatMap((name) =>
          groups[name] ? [{ name, description: name, ranks: groups[name], entered: null }] : [],
        ),
        calls: i === count - 1 ? [] : [p2p('recv', `p${i}`, 1)],
      },
    }));
    expect(culprits(...dumps)).toEqual([[count - 1, 'unmatched']]);
  });
});
