import { mean } from '../../base/statistics.js';

/** A slope of fewer standard errors may be noise. */
const SIGNIFICANT = 2;
/** With fewer steps a slope says nothing. */
const MIN_STEPS = 10;

/**
 * How far a run drifted from its start to its end, as a share of its mean: a machine that warms up, a neighbour that comes
 * or goes. What drifts within a run also differs between runs. What noise explains is taken off. `longRun`: n times the
 * variance of the mean of n steps.
 */
export function driftOf(steps: ArrayLike<number>, longRun: number): number {
  const n = steps.length;
  if (n < MIN_STEPS) return 0;
  const [middle, centre] = [mean(steps), (n - 1) / 2];
  let [covariance, spread] = [0, 0];
  for (let i = 0; i < n; i++) {
    covariance += (i - centre) * (steps[i]! - middle);
    spread += (i - centre) ** 2;
  }
  const slope = covariance / spread;
  const error = Math.sqrt(longRun / spread);
  return (n / middle) * Math.sqrt(Math.max(0, slope ** 2 - (SIGNIFICANT * error) ** 2));
}
