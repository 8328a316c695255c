import { describe, expect, it } from 'vitest';
import { ns } from '../../base/units.js';
import { type TimeByClass, totals } from '../../facts/time-class.js';
import type { RankTable } from '../table/build-table.js';
import { findLateRanks } from './find-late-ranks.js';
import { latenessOf } from './lateness.js';

/**
 * Where answers change, with figures by hand. Ranks compute 100 ms per step; `late` has what is added, in ms, by rank and step.
 */
function tableOf(late: readonly (readonly number[])[], more: Partial<RankTable> = {}): RankTable {
  const time = late.map((ofRank) =>
    ofRank.map(
      (ms): TimeByClass => totals((c) => 1e6 * (c === 'compute' ? 100 : c === 'idle_host' ? ms : 0)),
    ),
  );
  return {
    ranks: late.map((_, r) => r),
    hosts: late.map(() => null),
    coordinates: late.map(() => null),
    steps: late[0]!.map((_, s) => s),
    own: late.map((ofRank) => Float64Array.from(ofRank, (ms) => 1e6 * (100 + ms))),
    time,
    recorded: ns(100e6),
    clockError: 0,
    fromLogs: false,
    inputCopies: late.map(() => 0),
    ...more,
  } as unknown as RankTable;
}
const always = (ms: number, steps = 8) => Array.from({ length: steps }, () => ms);
/** Late by `ms` in the given steps only. */
const inSteps = (ms: number, which: readonly number[], steps = 8) =>
  Array.from({ length: steps }, (_, s) => (which.includes(s) ? ms : 0));
const named = (late: readonly (readonly number[])[], more?: Partial<RankTable>) =>
  findLateRanks(tableOf(late, more)).map(({ ranks, pattern, confidence }) => ({
    ranks,
    pattern,
    confidence,
  }));
const eightWith = (ofRank5: readonly number[]) =>
  Array.from({ length: 8 }, (_, r) => (r === 5 ? ofRank5 : always(0, ofRank5.length)));

describe('one rank of eight', () => {
  it('one rank of eight is late from 5% of the step on', () => {
    expect(named(eightWith(always(5.1)))).toMatchObject([{ ranks: [5], pattern: 'persistent' }]);
    expect(named(eightWith(always(4.9)))).toEqual([]);
  });

  it('costs what the others wait, and is late by its distance from the median', () => {
    const table = tableOf([always(0), always(2), always(1), always(9)]);
    expect(findLateRanks(table)).toMatchObject([{ ranks: [3], cost: 7e6, cause: 'host' }]);
    expect(latenessOf(table).map((l) => l[0]! / 1e6)).toEqual([-1.5, 0.5, -0.5, 7.5]);
  });

  it('one rank of eight is persistent when it is late in half of the steps', () => {
    expect(named(eightWith(inSteps(20, [0, 1, 4, 6])))).toMatchObject([{ pattern: 'persistent' }]);
    expect(named(eightWith(inSteps(20, [0, 1, 4])))).toMatchObject([{ pattern: 'spike', confidence: 0.75 }]);
    const nineOfTwenty = inSteps(20, [0, 1, 4, 6, 7, 11, 13, 14, 18], 20);
    expect(named(eightWith(nineOfTwenty))).toMatchObject([{ ranks: [5] }]);
    expect(named(eightWith(nineOfTwenty))).not.toMatchObject([{ pattern: 'persistent' }]);
  });

  it('one rank of eight is named with more confidence the more it stands out; equal ranks are taken to differ by 1%', () => {
    // Late by 6.5 ms where 1 ms is usual: 0.7 + 0.03 × (6.5 − 3.5).
    expect(named(eightWith(always(6.5)))[0]!.confidence).toBe(0.79);
    expect(named(eightWith(always(10.2)))[0]!.confidence).toBe(0.9);
    expect(named(eightWith(always(40)))[0]!.confidence).toBe(0.98);
  });

  it('stands out when it is 3.5 usual deviations late', () => {
    // The median is 1 ms. Ranks are 2 ms off it (their median), a deviation of 1.4826 × 2 ms; 3.5 of them are 10.4 ms.
    const spread = (late: number) => [-2, -2, -2, 0, 2, 2, 2, late].map((ms) => always(ms));
    expect(named(spread(12))[0]).toEqual({ ranks: [7], pattern: 'persistent', confidence: 0.71 });
    // Nothing stands out, but it is the last one in every step, always by the same time.
    expect(named(spread(10))[0]).toEqual({ ranks: [7], pattern: 'persistent', confidence: 0.9 });
  });

  it('needs three steps for a high confidence', () => {
    expect(named(eightWith(always(40, 2)))[0]!.confidence).toBe(0.74);
    // The chance to be last three times by luck is 1 in 512 for each of eight ranks.
    expect(named(eightWith(always(40, 3)))[0]!.confidence).toBe(0.96);
  });

  it('comes back when it is late at equal distances, three times or more', () => {
    expect(named(eightWith(inSteps(20, [1, 4, 7])))).toEqual([
      { ranks: [5], pattern: 'periodic', confidence: 0.9 },
    ]);
    expect(named(eightWith(inSteps(20, [1, 4, 7, 10], 12)))[0]!.confidence).toBe(0.9);
    expect(named(eightWith(inSteps(20, [1, 4])))).toEqual([
      { ranks: [5], pattern: 'spike', confidence: 0.75 },
    ]);
  });

  it('must cost 40% of a step to be named for a single step, and 2% of all for several', () => {
    expect(named(eightWith(inSteps(41, [3])))).toHaveLength(1);
    expect(named(eightWith(inSteps(39, [3])))).toEqual([]);
    expect(named(eightWith(inSteps(13, [1, 4], 12)))).toHaveLength(1);
    expect(named(eightWith(inSteps(11, [1, 4], 12)))).toEqual([]);
  });
});

/** Ranks differ by 10 ms in every step, so that a fourth one that is late by up to 30 ms never stands out in one of them. */
describe('one of two ranks', () => {
  /** Rank 1 of a job on two busy cores, ms beyond rank 0. */
  const MEASURED = [53, 114, 26, -3, 252, 26, 67, 91, 57];
  const second = (late: readonly number[]) => named([always(0, late.length), late]);

  it('one of two ranks is late when it is last by much in most steps, and first only once, by little', () => {
    expect(second(MEASURED)).toMatchObject([{ ranks: [1], pattern: 'persistent' }]);
    expect(second(MEASURED.with(3, -300))).toEqual([]);
    expect(second(always(20, 8))).toMatchObject([{ ranks: [1] }]);
    expect(second(always(20, 7))).toEqual([]);
  });
});

describe('a rank of four noisy ones', () => {
  const noisy = (late: readonly number[], third: readonly number[] = always(5, late.length)) => [
    always(-15, late.length),
    always(-5, late.length),
    third,
    late,
  ];

  it('a rank of four noisy ones is late when it is last more often than luck allows, which is once in a hundred', () => {
    // In the other steps the third one is last. Chances for any of four ranks: 8 of 12 times 0.0111, 9 of 14 times 0.0086.
    const often = (times: number, steps: number) => {
      const isLast = (s: number) => s < times;
      const of = (last: boolean) => (last ? 20 : 5);
      const all = Array.from({ length: steps }, (_, s) => s);
      return named(
        noisy(
          all.map((s) => of(isLast(s))),
          all.map((s) => of(!isLast(s))),
        ),
      );
    };
    expect(often(8, 12)).toEqual([]);
    expect(often(9, 14)).toMatchObject([{ ranks: [3], pattern: 'persistent' }]);
  });

  it('must be late by 2.5 errors of the median', () => {
    // Five times around 20 ms: the error of the median is 1.2533 × 1.4826 × the usual deviation / √5.
    const varying = (by: number) => named(noisy([20, 20 - by, 20 + by, 20 - by, 20 + by]));
    expect(varying(9.2)).toMatchObject([{ ranks: [3], pattern: 'persistent' }]);
    expect(varying(10.1)).toEqual([]);
    // 0.7, and 0.02 for each error, up to 0.9.
    expect(varying(5)[0]!.confidence).toBe(0.79);
    expect(varying(1)[0]!.confidence).toBe(0.9);
  });
});

describe('a rank that is late once', () => {
  const besides = (own: readonly number[], other: readonly number[]) =>
    named([own, other, ...Array.from({ length: 6 }, () => always(0))]).filter((l) => l.ranks.includes(0));

  it('must be four times as late as any other ever is', () => {
    expect(besides(inSteps(40, [3]), inSteps(9, [6]))).toHaveLength(1);
    expect(besides(inSteps(40, [3]), inSteps(11, [6]))).toEqual([]);
  });

  it('or twice as late where it is late more often', () => {
    expect(besides(inSteps(40, [3, 5]), inSteps(19, [6]))).toHaveLength(1);
    expect(besides(inSteps(40, [3, 5]), inSteps(21, [6]))).toEqual([]);
  });

  it('or with an exception for every six times', () => {
    const long = (which: readonly number[]) =>
      named([
        inSteps(40, which, 24),
        inSteps(40, [20], 24),
        ...Array.from({ length: 6 }, () => always(0, 24)),
      ]).filter((l) => l.ranks.includes(0));
    expect(long([1, 2, 5, 9, 10, 17])).toHaveLength(1);
    expect(long([1, 2, 5, 9, 10])).toEqual([]);
  });
});

describe('several ranks', () => {
  it('several ranks are late together when the gap to the others is 5% of the step', () => {
    const two = (ms: number) =>
      named([always(ms), always(ms), ...Array.from({ length: 6 }, () => always(0))]);
    expect(two(5.1)).toMatchObject([{ ranks: [0, 1], pattern: 'persistent' }]);
    expect(two(4.9)).toEqual([]);
  });

  it('several ranks are named with 0.6, and 0.3 of the share of steps in which they are last', () => {
    const others = Array.from({ length: 6 }, () => always(0));
    expect(named([always(20), always(20), ...others])[0]!.confidence).toBe(0.9);
    const most = inSteps(20, [0, 1, 2, 3, 4, 5, 6]);
    expect(named([most, most, ...others])[0]!.confidence).toBe(0.86);
  });

  it('several ranks are named together only if that explains 1.5 times more than the latest of them', () => {
    // Both are 20 ms late. In one step the first is later by so much that alone it costs 37.5 of 57.5 ms, or 42.5 of 62.5 ms.
    const late = (once: number) =>
      findLateRanks(
        tableOf([
          inSteps(once, [3]).map((ms) => 20 + ms),
          always(20),
          ...Array.from({ length: 6 }, () => always(0)),
        ]),
      );
    expect(late(300)).toMatchObject([{ ranks: [0, 1], cost: 57.5e6 }]);
    expect(late(340)[0]).toMatchObject({ ranks: [0], cost: 42.5e6 });
  });

  it('several ranks of a machine are late together when that explains 80% of what ranks differ by', () => {
    const hosts = ['a', 'a', 'b', 'b'];
    const onB = (late: readonly number[]) =>
      findLateRanks(
        tableOf(
          late.map((ms) => always(ms)),
          { hosts },
        ),
      ).filter((l) => l.pattern === 'host');
    // Means 0, 10 and 30, 40 ms: 30² of 30² + 10² is between machines. 0, 20 and 26, 46 ms: 26² of 26² + 20².
    expect(onB([0, 10, 30, 40])).toMatchObject([
      { ranks: [2, 3], cost: 30e6, confidence: 0.85, steps: [0, 1, 2, 3, 4, 5, 6, 7] },
    ]);
    expect(onB([0, 20, 26, 46])).toEqual([]);
    // The first of them must come 5 ms after the last of the others.
    expect(onB([0, 0, 5.1, 5.1])).toHaveLength(1);
    expect(onB([0, 0, 4.9, 4.9])).toEqual([]);
  });
});

describe('an imbalance that moves about', () => {
  /** In each step one rank is late, each time another one, but in the last `quiet` steps nobody. */
  const moving = (ms: number, quiet = 0, steps = 16) =>
    findLateRanks(
      tableOf(
        Array.from({ length: 8 }, (_, r) =>
          Array.from({ length: steps }, (_, s) => (s < steps - quiet && (s * 3) % 8 === r ? ms : 0)),
        ),
      ),
    ).filter((l) => l.pattern === 'rotating');

  it('takes somebody late in three quarters of the steps', () => {
    expect(moving(20, 4)).toMatchObject([{ ranks: [], cause: 'host', cost: 15e6 }]);
    expect(moving(20, 5)).toEqual([]);
  });

  it('or in half of them, where a quarter of the step is lost', () => {
    expect(moving(60, 7)).toHaveLength(1);
    expect(moving(40, 7)).toEqual([]);
  });

  it('takes 5% of the step', () => {
    expect(moving(5.1)).toHaveLength(1);
    expect(moving(4.9)).toEqual([]);
  });

  it('an imbalance that moves about is believed more with every step, up to 0.9', () => {
    expect(moving(20, 0, 5)[0]!.confidence).toBe(0.75);
    expect(moving(20)[0]!.confidence).toBe(0.9);
  });
});
