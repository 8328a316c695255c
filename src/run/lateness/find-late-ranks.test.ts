import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ns, share } from '../../base/units.js';
import { type TimeByClass, totals } from '../../facts/time-class.js';
import type { RankTable } from '../table/build-table.js';
import { findLateRanks } from './find-late-ranks.js';
import { binomialTail } from './lateness.js';
import { isMostlyPeriodic } from './single-rank.js';

const STEPS = 8;
type Class = keyof TimeByClass;

/** Ranks that compute 100 ms per step; `added` gives some of them more ms of a class, by rank and step. */
function tableOf(
  ranks: number,
  added: (rank: number, step: number) => readonly [Class, number] | null,
  given: Partial<Pick<RankTable, 'hosts' | 'coordinates'> & { inputCopies: number }> = {},
): RankTable {
  const time = Array.from({ length: ranks }, (_, r) =>
    Array.from({ length: STEPS }, (_, s) => {
      const [into, ms] = added(r, s) ?? (['compute', 0] as const);
      return totals((c) => 1e6 * ((c === 'compute' ? 100 : 0) + (c === into ? ms : 0)));
    }),
  );
  const own = time.map((t) => Float64Array.from(t, (c) => Object.values(c).reduce((a, b) => a + b, 0)));
  return {
    ranks: Array.from({ length: ranks }, (_, r) => r),
    rankIndices: Array.from({ length: ranks }, (_, r) => r),
    hosts: given.hosts ?? Array.from({ length: ranks }, () => null),
    coordinates: given.coordinates ?? Array.from({ length: ranks }, () => null),
    steps: Array.from({ length: STEPS }, (_, s) => s + 10),
    own,
    time,
    mayHide: own.map((o) => o.map(() => 0)),
    recorded: ns(100e6),
    onlyInputKnown: false,
    fromLogs: false,
    inputCopies: Array.from({ length: ranks }, () => share(given.inputCopies ?? 0)),
  };
}

describe('late ranks', () => {
  it.each<[string, Class, string]>([
    ['input', 'idle_data', 'data'],
    ['computing', 'compute', 'gpu'],
    ['compiling', 'idle_compile', 'compile'],
    ['the host', 'idle_host', 'host'],
  ])('late ranks are found with their cause: %s', (_, into, cause) => {
    const table = tableOf(8, (r) => (r === 5 ? [into, 20] : null));
    expect(findLateRanks(table)).toMatchObject([{ ranks: [5], pattern: 'persistent', cause, cost: 20e6 }]);
  });

  it('late ranks that copy longer wait for input only if the copies are input', () => {
    const copies = (inputCopies: number) =>
      tableOf(8, (r) => (r === 5 ? ['copy', 20] : null), { inputCopies });
    expect(findLateRanks(copies(1))).toMatchObject([{ ranks: [5], cause: 'data' }]);
    expect(findLateRanks(copies(0.2))).toMatchObject([{ ranks: [5], cause: 'host' }]);
  });

  it('late ranks in single steps are distinguished from those that are late periodically', () => {
    expect(
      findLateRanks(tableOf(8, (r, s) => (r === 2 && s === 4 ? ['idle_host', 80] : null))),
    ).toMatchObject([{ ranks: [2], pattern: 'spike', steps: [14], cost: 10e6 }]);
    expect(
      findLateRanks(tableOf(8, (r, s) => (r === 2 && s % 3 === 1 ? ['idle_data', 40] : null))),
    ).toMatchObject([{ ranks: [2], pattern: 'periodic', cause: 'data' }]);
  });

  it('late ranks are not named for one step of a log that holds one step in ten', () => {
    const spike = tableOf(8, (r, s) => (r === 2 && s === 4 ? ['idle_host', 80] : null));
    const twice = tableOf(8, (r, s) => (r === 2 && (s === 4 || s === 5) ? ['idle_host', 80] : null));
    const sampled = { fromLogs: true, steps: spike.steps.map((_, s) => 10 * s) };
    expect(findLateRanks({ ...spike, ...sampled })).toEqual([]);
    expect(findLateRanks({ ...spike, fromLogs: true })).toMatchObject([{ pattern: 'spike' }]);
    expect(findLateRanks({ ...twice, ...sampled })).toMatchObject([{ ranks: [2], pattern: 'spike' }]);
  });

  it('late ranks are not named for one step when another rank was a quarter as late once', () => {
    const once = (other: number) =>
      tableOf(8, (r, s) =>
        s === 4 && r === 2 ? ['idle_host', 80] : s === 6 && r === 3 ? ['idle_host', other] : null,
      );
    expect(findLateRanks(once(30))).toEqual([]);
    expect(findLateRanks(once(15))).toMatchObject([{ ranks: [2], pattern: 'spike' }]);
  });

  it('late ranks are named for many steps though another rank comes near once', () => {
    const often = (times: number) =>
      longer(
        tableOf(4, (r, s) => (r === 2 && s % 4 === 1 ? ['idle_host', 80] : null)),
        times,
      );
    /** The same steps repeated; in one of them rank 0 is late too. */
    function longer(table: RankTable, times: number): RankTable {
      const repeat = <T>(list: ArrayLike<T>): T[] =>
        Array.from({ length: times }, () => [...Array.from(list)]).flat();
      const own = table.own.map((o) => Float64Array.from(repeat(o)));
      own[0]![3]! += 50e6;
      return { ...table, own, time: table.time.map(repeat), steps: repeat(table.steps).map((_, s) => s) };
    }
    expect(findLateRanks(often(1)).filter((l) => l.ranks.includes(2))).toEqual([]);
    expect(findLateRanks(often(4))).toMatchObject([{ ranks: [2], cause: 'host' }]);
  });

  it('late ranks are not named when a different rank is late in each step', () => {
    const found = findLateRanks(tableOf(8, (r, s) => (r === (s * 3) % 8 ? ['compute', 30] : null)));
    expect(found).toMatchObject([{ ranks: [], pattern: 'rotating', cause: 'gpu' }]);
  });

  it('late ranks are not named when they take turns, though some turns are periodic', () => {
    const inTurn = (ranks: number) => tableOf(ranks, (r, s) => (r === s % ranks ? ['compute', 30] : null));
    expect(findLateRanks(inTurn(3))).toMatchObject([{ ranks: [], pattern: 'rotating', cost: 30e6 }]);
    expect(findLateRanks(inTurn(4))).toMatchObject([{ ranks: [], pattern: 'rotating' }]);
    // In these steps only some of them had a turn.
    expect(findLateRanks(inTurn(1024))).toMatchObject([{ ranks: [], pattern: 'rotating', cost: 30e6 }]);
  });

  it('one periodic rank is named where the others are late by little', () => {
    const little = (r: number, s: number) => (r !== 2 && r === s % 4 ? (['idle_host', 6] as const) : null);
    const found = findLateRanks(
      tableOf(4, (r, s) => (r === 2 && s % 3 === 1 ? ['idle_host', 80] : little(r, s))),
    );
    expect(found).toMatchObject([{ ranks: [2], pattern: 'periodic' }]);
  });

  it.each([
    [4, [0, 1]],
    [8, [2, 7]],
    [16, [1, 4, 5]],
  ])('late ranks of %i ranks may be several that are equally late: %j', (ranks, late) => {
    const both = tableOf(ranks, (r) => (late.includes(r) ? ['idle_host', 20 + r / 10] : null));
    const [found, ...more] = findLateRanks(both);
    expect(found).toMatchObject({ ranks: late, pattern: 'persistent', cause: 'host' });
    expect(found!.cost).toBeGreaterThan(20e6);
    expect(found!.cost).toBeLessThan(21e6);
    expect(found!.steps).toHaveLength(STEPS);
    expect(more).toEqual([]);
  });

  it('two halves that take turns are not late, nor two ranks that are late by little', () => {
    const turns = tableOf(4, (r, s) => (s % 2 === Number(r < 2) ? ['idle_host', 20] : null));
    expect(findLateRanks(turns).filter((l) => l.ranks.length > 1)).toEqual([]);
    expect(findLateRanks(tableOf(4, (r) => (r < 2 ? ['idle_host', 4] : null)))).toEqual([]);
  });

  it('all ranks of a host, or of a stage, can be late together', () => {
    const hosts = ['a', 'a', 'a', 'b', 'b', 'b'];
    const onB = (r: number) => (r >= 3 ? (['idle_host', 25] as const) : null);
    expect(findLateRanks(tableOf(6, onB, { hosts }))).toMatchObject([
      { pattern: 'host', location: 'b', ranks: [3, 4, 5], cause: 'host' },
    ]);
    const coordinates = [0, 0, 0, 1, 1, 1].map((pp, i) => ({ dp: i % 3, pp }));
    expect(findLateRanks(tableOf(6, onB, { coordinates }))).toMatchObject([
      { pattern: 'stage', location: 'pp 1' },
    ]);
    // A stage that fills a host is one finding, not two.
    expect(findLateRanks(tableOf(6, onB, { coordinates, hosts }))).toMatchObject([
      { pattern: 'stage', location: 'pp 1 (b)', ranks: [3, 4, 5] },
    ]);
    const dp = coordinates.map((c) => ({ tp: c.dp, dp: c.pp }));
    expect(findLateRanks(tableOf(6, onB, { coordinates: dp, hosts }))).toMatchObject([
      { pattern: 'host', location: 'b (dp 1)' },
    ]);
  });

  it('do not exist among equal ranks with noise', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 32 }),
        fc.infiniteStream(fc.double({ min: -1, max: 1, noNaN: true })),
        (n, noise) => {
          const table = tableOf(n, () => ['compute', 1.2 * (noise.next().value as number)]);
          expect(findLateRanks(table)).toEqual([]);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('need two ranks and a step', () => {
    expect(findLateRanks(tableOf(1, () => null))).toEqual([]);
  });
});

it('binomialTail is the probability of k or more successes', () => {
  expect(binomialTail(4, 4, 0.5)).toBeCloseTo(1 / 16, 12);
  expect(binomialTail(10, 0, 0.3)).toBeCloseTo(1, 12);
});

describe('mostly periodic', () => {
  const everyFourth = [3, 7, 11, 15, 19, 23, 27, 31];
  it.each([
    ['every fourth step', everyFourth, true],
    ['with one more in between', [...everyFourth, 20].sort((a, b) => a - b), true],
    ['with one missing', everyFourth.filter((s) => s !== 15), true],
    ['with two more and one missing', [3, 7, 12, 15, 18, 19, 23, 27, 31], true],
    ['three times only', [3, 7, 11], false],
    ['in every step for a while', [4, 5, 6, 7, 8, 9], false],
    ['at random', [2, 3, 9, 14, 20, 27, 33], false],
    ['only half of the times', [0, 4, 12, 24, 28, 40], false],
    ['never', [], false],
  ])('%s', (_, late, expected) => {
    expect(isMostlyPeriodic(late)).toBe(expected);
  });

  it('any period from any first step is periodic', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 50 }),
        fc.integer({ min: 0, max: 90 }),
        fc.integer({ min: 4, max: 30 }),
        (period, begin, times) => {
          const late = Array.from({ length: times }, (_, i) => begin + i * period);
          expect(isMostlyPeriodic(late)).toBe(true);
        },
      ),
    );
  });
});
