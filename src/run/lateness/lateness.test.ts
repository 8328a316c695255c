import { describe, expect, it } from 'vitest';
import { hash01 } from '../../../test/helpers/simulate/random.js';
import { binomialTail, signedRankTail } from './lateness.js';

describe('the signed-rank test', () => {
  it('counts signs: all of eight positive is one in 256', () => {
    expect(signedRankTail([1, 2, 3, 4, 5, 6, 7, 8])).toBeCloseTo(1 / 256, 12);
    // The smallest alone may be negative: two of 512 signs are as far above.
    expect(signedRankTail([-1, 13, 13.1, 27, 28, 33, 45, 57, 126])).toBeCloseTo(2 / 512, 12);
    // The largest is: 9 of 45 ranks are below 0.
    expect(signedRankTail([1, 2, 3, 4, 5, 6, 7, 8, -9])).toBeCloseTo(33 / 512, 12);
  });

  it('the signed-rank test is even for values on both sides, and certain for none', () => {
    expect(signedRankTail([])).toBe(1);
    expect(signedRankTail([0, 0])).toBe(1);
    expect(signedRankTail([-1, -2, -3])).toBe(1);
    expect(signedRankTail([-1, 1.1])).toBeCloseTo(0.5, 12);
  });

  it('goes over into the normal curve', () => {
    const signs = (n: number) => Array.from({ length: n }, (_, i) => (i % 3 === 0 ? -1 : 1) * (i + 1));
    const [counted, curve] = [signedRankTail(signs(40)), signedRankTail(signs(41))];
    expect(Math.log(curve / counted)).toBeLessThan(0.6);
    expect(Math.log(counted / curve)).toBeLessThan(0.6);
  });

  it('says 1% of equal ranks about once in a hundred times', () => {
    let said = 0;
    for (let i = 0; i < 4000; i++) {
      const differences = Array.from({ length: 12 }, (_, k) => hash01(1, i, k, 0) - hash01(1, i, k, 1));
      if (signedRankTail(differences) < 0.01) said++;
    }
    expect(said).toBeGreaterThan(15);
    expect(said).toBeLessThan(60);
  });
});

it('the binomial tail is that of coins', () => {
  expect(binomialTail(8, 8, 0.5)).toBeCloseTo(1 / 256, 12);
  expect(binomialTail(9, 8, 0.5)).toBeCloseTo(10 / 512, 12);
});
