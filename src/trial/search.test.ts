import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bestNumber, nextNumber } from './search.js';

/** All numbers that a search tries, in order. `gainOf`: what each one gives. */
function tries(gainOf: (n: number) => number | null, { start = 2, now = 0, most = 32 } = {}) {
  const gains = new Map<number, number | null>();
  for (;;) {
    const next = nextNumber({ start, now, most, gains });
    if (next === null) return { tried: [...gains.keys()], best: bestNumber(gains) };
    if (gains.has(next)) throw new Error(`${next} twice`);
    gains.set(next, gainOf(next));
  }
}

describe('the search for a number', () => {
  it('doubles the advised number of workers while that helps, and keeps the smallest that is nearly as good', () => {
    expect(tries((n) => Math.min(n, 7.9))).toEqual({ tried: [2, 4, 8, 16], best: 8 });
  });

  it('halves the advised number if doubling it gains nothing', () => {
    expect(tries((n) => Math.min(n, 3), { start: 12 })).toMatchObject({ tried: [12, 24, 6, 3, 1], best: 3 });
  });

  it('finds a peak between two powers of two', () => {
    const { best } = tries((n) => 4 - Math.abs(n - 11) / 6);
    expect(best).toBeGreaterThanOrEqual(10);
    expect(best).toBeLessThanOrEqual(14);
  });

  it('gives up after two numbers that make the job slower', () => {
    expect(tries((n) => 0.8 - 0.01 * n, { start: 8 }).tried).toEqual([8, 4]);
  });

  it('tries half of a number that crashes', () => {
    expect(tries((n) => (n > 4 ? null : n), { start: 8 })).toMatchObject({ tried: [8, 4, 2], best: 4 });
  });

  it('tries nothing at or below what the job has', () => {
    expect(tries((n) => n / 4, { start: 6, now: 4 }).tried.every((n) => n > 4)).toBe(true);
    expect(tries(() => 1, { start: 5, now: 4 }).tried).toEqual([5, 10]);
  });

  it('ends, stays within its bounds, and comes close to the best number of any curve with one peak', () => {
    const curve = fc.record({
      peak: fc.integer({ min: 1, max: 40 }),
      rise: fc.double({ min: 0.3, max: 1, noNaN: true }),
      fall: fc.double({ min: 0, max: 0.5, noNaN: true }),
      start: fc.integer({ min: 1, max: 32 }),
    });
    fc.assert(
      fc.property(curve, ({ peak, rise, fall, start }) => {
        const gainOf = (n: number) => (n <= peak ? n ** rise : peak ** rise * (peak / n) ** fall);
        const { tried, best } = tries(gainOf, { start });
        expect(tried[0]).toBe(start);
        expect(tried.length).toBeLessThanOrEqual(7);
        expect(Math.min(...tried)).toBeGreaterThanOrEqual(1);
        expect(Math.max(...tried)).toBeLessThanOrEqual(32);
        const most = Math.max(...Array.from({ length: 32 }, (_, i) => gainOf(i + 1)));
        // Where nothing gains much, nothing is missed.
        if (most > 1.2) expect(gainOf(best!) * 1.4).toBeGreaterThan(most);
      }),
    );
  });
});
