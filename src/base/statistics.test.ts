import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { largest, mean, median, mediansOfOthers, quantile, smallest } from './statistics.js';

const numbers = fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 30 });

describe('quantile', () => {
  // numpy.quantile([3, 1, 4, 1, 5], q)
  it.each([
    [0, 1],
    [0.25, 1],
    [0.5, 3],
    [0.6, 3.4],
    [0.9, 4.6],
    [1, 5],
  ])('%f of five numbers equals NumPy', (q, expected) => {
    expect(quantile([3, 1, 4, 1, 5], q)).toBeCloseTo(expected, 12);
  });

  it('a quantile has its share of the numbers below and above it', () => {
    fc.assert(
      fc.property(numbers, fc.double({ min: 0, max: 1, noNaN: true }), (list, q) => {
        const value = quantile(list, q);
        const below = list.filter((v) => v < value - 1e-6).length;
        const above = list.filter((v) => v > value + 1e-6).length;
        expect(below).toBeLessThanOrEqual(Math.ceil((list.length - 1) * q));
        expect(above).toBeLessThanOrEqual(Math.ceil((list.length - 1) * (1 - q)));
      }),
    );
  });

  it('ignores NaN', () => {
    expect(median([Number.NaN, 2, Number.NaN, 4])).toBe(3);
    expect(median([])).toBeNaN();
    expect(median([Number.NaN])).toBeNaN();
  });
});

describe('mean', () => {
  it('the mean is the sum over the count', () => expect(mean([1, 2, 6])).toBe(3));
  it('the mean of no values is NaN', () => expect(mean([])).toBeNaN());
});

describe('largest and smallest', () => {
  it('take more numbers than a call can take arguments', () => {
    const many = Float64Array.from({ length: 300_000 }, (_, i) => i);
    expect([smallest(many), largest(many)]).toEqual([0, 299_999]);
  });
});

it('takes the median of all others for each value', () => {
  const any = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.double({ noDefaultInfinity: true }));
  fc.assert(
    fc.property(fc.array(any), (values) => {
      const others = values.map((_, i) => median(values.toSpliced(i, 1)));
      const found = mediansOfOthers(values);
      expect(found.every((m, i) => m === others[i] || (Number.isNaN(m) && Number.isNaN(others[i])))).toBe(
        true,
      );
    }),
  );
});
