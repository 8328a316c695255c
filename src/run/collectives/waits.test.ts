import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { columns, type Drawn, groupOf, rank } from '../../../test/helpers/collectives.js';
import { COLLECTIVE_KINDS } from '../../facts/rank-collectives.js';
import { busFactor, measureBandwidth } from './bandwidth.js';
import { matchCollectives } from './match.js';
import { divideWaits } from './waits.js';

const G = groupOf([0, 1, 2]);

/** A list of durations for each rank; the k-th of each list are one collective. */
function divide(
  durations: readonly (readonly number[])[],
  of: (r: number, k: number) => Partial<Drawn> = () => ({}),
) {
  const ranks = durations.map((list, r) =>
    rank(
      r,
      columns(
        list.map((ns, k) => ({
          start: k * 1000,
          end: k * 1000 + ns,
          sequence: k,
          step: k,
          ...of(r, k),
        })),
        [G],
      ),
    ),
  );
  const matched = matchCollectives(ranks);
  return { ranks, matched, waits: divideWaits(ranks, matched) };
}

describe('collectives that synchronize', () => {
  it('transfer as long as the shortest member: the only rank with that one came last', () => {
    const { waits } = divide([
      [100, 30],
      [10, 30],
      [90, 35],
    ]);
    expect([...waits.transfer]).toEqual([10, 30]);
    expect([...waits.late]).toEqual([1, -1]);
    expect(waits.ranks.map((r) => [r.wait, r.transfer, r.caused])).toEqual([
      [90, 40, 0],
      [0, 40, 90],
      [85, 40, 0],
    ]);
    expect([...waits.waitOf[2]!]).toEqual([80, 5]);
    expect(waits.groups[0]).toMatchObject({ wait: 175, transfer: 120 });
  });

  it('collectives that synchronize are divided in the same proportion where they are exposed', () => {
    const { waits } = divide([[100], [20]], (r) => (r === 0 ? { exposed: 50 } : {}));
    expect(waits.ranks[0]).toMatchObject({ wait: 80, exposedWait: 40, exposedTransfer: 10 });
  });

  it('never have negative waits, and transfer equally long on all members', () => {
    const duration = fc.integer({ min: 1, max: 1_000_000 });
    const lists = fc
      .integer({ min: 1, max: 8 })
      .chain((n) =>
        fc.array(fc.array(duration, { minLength: n, maxLength: n }), { minLength: 2, maxLength: 5 }),
      );
    const kind = fc.constantFrom(
      ...(['all_reduce', 'all_gather', 'reduce_scatter', 'all_to_all', 'barrier'] as const),
    );
    fc.assert(
      fc.property(lists, kind, (durations, k) => {
        const { waits } = divide(durations, () => ({ kind: k }));
        durations[0]!.forEach((_, i) => {
          const own = durations.map((list) => list[i]!);
          expect(waits.transfer[i]).toBe(Math.min(...own));
          own.forEach((ns, r) => {
            expect(waits.waitOf[r]![i]).toBeGreaterThanOrEqual(0);
            expect(ns - waits.waitOf[r]![i]!).toBe(waits.transfer[i]);
          });
        });
        waits.ranks.forEach(({ wait, transfer, exposedWait, exposedTransfer, caused }, r) => {
          expect(exposedWait + exposedTransfer).toBeCloseTo(wait + transfer, 3);
          expect(waits.waitOf[r]!.reduce((sum, ns) => sum + ns, 0)).toBe(wait);
          expect(caused > 0).toBe(waits.late.includes(r));
        });
      }),
    );
  });
});

describe('in kinds that do not synchronize only receivers wait', () => {
  const durations = [[100], [40], [70]];
  const waitOf = (of: (r: number) => Partial<Drawn>) => {
    const { waits } = divide(durations, of);
    return [waits.ranks.map((r) => r.wait), [...waits.late]];
  };

  it.each([
    ['broadcast', 0, [0, 0, 30]],
    ['broadcast', -1, [60, 0, 30]],
    ['scatter', 2, [60, 0, 0]],
    ['reduce', 0, [60, 0, 0]],
    ['gather', 2, [0, 0, 30]],
    ['other', -1, [0, 0, 0]],
  ] as const)('%s with root %d', (kind, peer, waits) => {
    expect(waitOf(() => ({ kind, peer }))).toEqual([waits, [-1]]);
  });

  it('send and recv', () => {
    const { waits } = divide([[100], [40]], (r) => ({ kind: r === 0 ? 'recv' : 'send', peer: 1 - r }));
    expect(waits.ranks.map((r) => [r.wait, r.transfer])).toEqual([
      [60, 40],
      [0, 40],
    ]);
  });
});

describe('what cannot be divided', () => {
  it('the first collective after the profiler started cannot be divided, nor can one that only one rank has', () => {
    const list = [0, 1].map((r) =>
      rank(
        r,
        columns(
          [0, 1].map((k) => ({ start: k * 100, end: k * 100 + 10 + 30 * r, sequence: k * (r + 1), step: k })),
          [G],
          { profilerStart: true },
        ),
      ),
    );
    const waits = divideWaits(list, matchCollectives(list));
    expect([...waits.transfer]).toEqual([Number.NaN]);
    expect(waits.ranks.map((r) => [r.wait, r.transfer])).toEqual([
      [0, 0],
      [0, 0],
    ]);
    expect([...waits.waitOf[1]!]).toEqual([Number.NaN, Number.NaN]);
  });

  it('a collective without a duration cannot be divided, nor one that clocks contradict', () => {
    expect([...divide([[0], [50]]).waits.transfer]).toEqual([Number.NaN]);
    const { ranks, matched } = divide([[20], [50]]);
    expect(divideWaits(ranks, matched, Uint8Array.of(1)).waitOf[1]![0]).toBeNaN();
  });
});

describe('bus bandwidth', () => {
  it.each([
    ['all_reduce', 1.5],
    ['all_gather', 0.75],
    ['reduce_scatter', 0.75],
    ['all_to_all', 0.75],
    ['broadcast', 1],
    ['recv', 1],
    ['barrier', Number.NaN],
  ] as const)('bus bandwidth of %s on four ranks', (kind, factor) => {
    expect(COLLECTIVE_KINDS).toContain(kind);
    expect(busFactor(kind, 4)).toBe(factor);
  });

  it('counts transfer without waiting, by size', () => {
    const { matched, waits } = divide(
      [
        [1000, 500, 100],
        [4000, 900, 900],
      ],
      (_, k) => ({ bytes: k < 2 ? 3000 : 30 }),
    );
    // Three ranks: 4/3 of the bytes.
    expect(measureBandwidth(matched, waits.transfer)).toMatchObject([
      { kind: 'all_reduce', fromBytes: 1024, instances: 2, transferMedian: 750, gbPerSecond: 6 },
      { fromBytes: 16, instances: 1, gbPerSecond: 0.4 },
    ]);
  });
});
