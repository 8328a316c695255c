import { describe, expect, it } from 'vitest';
import { histogramOf } from './histogram.js';

const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

describe('histogramOf', () => {
  it('puts both sides on one scale, as shares of each', () => {
    const { from, to, shares, beyond } = histogramOf([
      [100, 101, 102, 103],
      [50, 51],
    ]);
    // A twentieth of the range is left free on both sides.
    expect([from, to]).toEqual([expect.closeTo(47.35, 9), expect.closeTo(105.65, 9)]);
    expect(shares.map(sum)).toEqual([expect.closeTo(1, 9), expect.closeTo(1, 9)]);
    expect(shares.map((side) => side.findIndex((part) => part > 0))).toEqual([54, 2]);
    expect(shares.map((side) => side.at(-1))).toEqual([0, 0]);
    expect(beyond).toEqual([0, 0]);
  });

  it('ends before a rare stall, and counts it', () => {
    const steps = Array.from({ length: 100 }, (_, i) => 100 + (i % 10));
    const { to, shares, beyond } = histogramOf([[...steps, 20_000], steps]);
    expect(to).toBeLessThan(130);
    expect(beyond).toEqual([1, 0]);
    expect(sum(shares[0]!)).toBeCloseTo(100 / 101, 9);
  });

  it('the scale has a width when all steps are equal, and one side may have no steps', () => {
    const { from, to, shares } = histogramOf([[100, 100], []]);
    expect(to).toBeGreaterThan(from);
    expect(sum(shares[0]!)).toBe(1);
    expect(sum(shares[1]!)).toBe(0);
  });
});
