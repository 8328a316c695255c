import { describe, expect, it } from 'vitest';
import { Random } from './random.js';
import { correlationOf, driftsOf, NO_WAVES, wavesOf } from './run-draws.js';

const STEPS = 200;
const PAIRS = 300;

/** The share of pairs of runs that seem to drift, and how far on average. */
function seen(noise: number, driftOf: (i: number) => number) {
  const random = new Random(9);
  const run = () => {
    const steps = Array.from(
      { length: STEPS },
      (_, i) => 100 * driftOf(i) * Math.exp(noise * random.normal()),
    );
    return wavesOf(steps, correlationOf(steps).longRun);
  };
  const drifts = Array.from({ length: PAIRS }, () => driftsOf([run(), run()]));
  const found = drifts.filter(([before, after]) => before! + after! > 0);
  const sum = drifts.flat().reduce((all, drift) => all + drift, 0);
  return { share: found.length / PAIRS, mean: sum / (2 * PAIRS) };
}

describe('driftsOf', () => {
  it('rarely takes noise for a drift: what it adds to the interval hides a real difference', () => {
    // With a test of each wave by itself: 11.7%, and a drift of 2% among 3% noise is seen as often.
    expect(seen(0.1, () => 1).share).toBeLessThan(0.08);
  });

  it('sees a drift that is larger than noise, and about how far it goes', () => {
    const { share, mean } = seen(0.03, (i) => 1 + (0.03 * i) / STEPS);
    expect(share).toBeGreaterThan(0.95);
    expect(mean).toBeGreaterThan(0.01);
    expect(mean).toBeLessThan(0.03);
  });

  it('driftsOf finds nothing in runs with few or equal steps', () => {
    expect(wavesOf([1, 2, 3], 1)).toBe(NO_WAVES);
    expect(wavesOf(new Float64Array(50).fill(100), 0)).toBe(NO_WAVES);
    expect(driftsOf([NO_WAVES, NO_WAVES])).toEqual([0, 0]);
  });
});
