import { describe, expect, it } from 'vitest';
import { compareTurns, type Turn } from './compare-turns.js';
import { Random } from './random.js';

/** Turns on a machine that gets slower by `drift` per turn. */
function turns(variants: readonly (string | null)[], gains: Record<string, number>, drift: number): Turn[] {
  const random = new Random(5);
  return variants.map((variant, turn) => ({
    variant,
    steps: Array.from(
      { length: 40 },
      () => ((100 * (1 + drift * turn)) / (gains[variant ?? ''] ?? 1)) * Math.exp(0.02 * random.normal()),
    ),
  }));
}

const ORDER = [null, 'A', null, 'B', null, 'A', null, 'B', null];

describe('compareTurns', () => {
  it('the gain of each variant is found while the machine gets slower', () => {
    const found = compareTurns(turns(ORDER, { A: 1.2, B: 1 }, 0.02));
    expect([...found.keys()]).toEqual(['A', 'B']);
    expect(found.get('A')!.verdict).toBe('faster');
    expect(found.get('A')!.speedup.likely).toBeCloseTo(1.2, 1);
    expect(found.get('A')!.speedup.low).toBeGreaterThan(1.1);
    expect(found.get('B')!.verdict).not.toBe('faster');
    expect(found.get('B')!.verdict).not.toBe('slower');
    expect(found.get('B')!.speedup.likely).toBeCloseTo(1, 1);
  });

  it('compareTurns is not fooled by a drift that a plain comparison would take for a gain', () => {
    const found = compareTurns(turns([null, 'A', null, 'A', null], {}, 0.05));
    expect(found.get('A')!.verdict).toBe('cannot-tell');
    expect(found.get('A')!.speedup.likely).toBeCloseTo(1, 1);
  });

  it('compareTurns has no answer without turns of the unchanged job', () => {
    expect(compareTurns(turns(['A', 'B'], {}, 0)).size).toBe(0);
    expect(compareTurns([]).size).toBe(0);
  });
});
