import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeTime, encodeTimes } from './page-data.js';

describe('times as codes', () => {
  const time = fc.oneof(
    fc.constant(Number.NaN),
    fc.constant(0),
    fc.double({ min: 1e6, max: 1e11, noNaN: true }),
  );
  it.each([
    [true, 0.0002],
    [false, 0.019],
  ])('come back to within their error, and missing times stay missing (two bytes: %s)', (wide, error) => {
    fc.assert(
      fc.property(fc.array(time, { minLength: 1 }), (times) => {
        const coded = encodeTimes(Float64Array.from(times), wide);
        times.forEach((t, i) => {
          const back = decodeTime(coded, i);
          if (Number.isNaN(t)) expect(back).toBeNaN();
          else expect(Math.abs(back - t)).toBeLessThanOrEqual(t * error + coded.top * 1e-4 * (wide ? 0 : 1));
        });
      }),
    );
  });

  it('keep the order of times', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1e12, noNaN: true }), { minLength: 2 }), (times) => {
        const { codes } = encodeTimes(Float64Array.from(times.sort((a, b) => a - b)), false);
        expect([...codes]).toEqual([...codes].sort((a, b) => a - b));
      }),
    );
  });
});
