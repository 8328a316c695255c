import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { indexInSorted, lowerBound, partitionPoint, upperBound } from './search.js';

describe('binary search', () => {
  it('finds what a search from the start finds', () => {
    const few = fc.integer({ min: 0, max: 9 });
    fc.assert(
      fc.property(fc.array(few, { maxLength: 20 }), few, (values, value) => {
        const sorted = Uint32Array.from(values).sort();
        const first = (passes: (v: number) => boolean) => {
          const index = sorted.findIndex(passes);
          return index < 0 ? sorted.length : index;
        };
        expect(lowerBound(sorted, value)).toBe(first((v) => v >= value));
        expect(upperBound(sorted, value)).toBe(first((v) => v > value));
        expect(indexInSorted(sorted, value)).toBe(sorted.indexOf(value));
      }),
    );
  });

  it('searches by any property of the entries', () => {
    const ends = [3, 1, 2];
    const byEnd = [1, 2, 0];
    expect(partitionPoint(byEnd.length, (i) => ends[byEnd[i]!]! <= 2)).toBe(2);
    expect(partitionPoint(0, () => true)).toBe(0);
  });
});
