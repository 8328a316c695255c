import { describe, expect, it } from 'vitest';
import { unionOf } from '../../base/intervals.js';
import { exposure } from './extract.js';

const of = (covered: [number, number][], all: [number, number][]) => {
  const exposedOf = exposure(unionOf(covered), all);
  return all.map(([start, end]) => exposedOf(start, end));
};

describe('the exposed time of collectives', () => {
  it('is what nothing hides', () => {
    expect(of([[2, 5]], [[0, 10]])).toEqual([7]);
    expect(of([[0, 10]], [[0, 10]])).toEqual([0]);
    expect(of([], [[3, 3]])).toEqual([0]);
  });

  it('is divided equally where two run at once, so that the sum is time that passed', () => {
    // A long prefetch, and a blocking all-reduce in its middle.
    const [prefetch, blocking] = of(
      [[0, 40]],
      [
        [0, 100],
        [50, 90],
      ],
    ) as [number, number];
    expect([prefetch, blocking]).toEqual([40, 20]);
    expect(prefetch + blocking).toBe(60);
  });

  it('does not depend on which of two began first', () => {
    expect(
      of(
        [],
        [
          [0, 10],
          [0, 10],
        ],
      ),
    ).toEqual([5, 5]);
    expect(
      of(
        [],
        [
          [0, 10],
          [1, 10],
        ],
      ),
    ).toEqual([5.5, 4.5]);
  });
});
