import { mean } from '../../base/statistics.js';

/** Slow waves that are looked for: half a wave over the run (a drift in one direction), a whole one, one and a half. */
const HALF_WAVES = [1, 2, 3];
/** A wave of fewer standard errors may be noise; of a short run it must have more, because its noise is hardly known. */
const significant = (steps: number) => 2.25 * (1 + 6 / steps);
/** With fewer steps a wave says nothing. */
const MIN_STEPS = 10;

/**
 * How far a run drifted, from its lowest to its highest, as a share of its mean: a machine that warms up, a neighbour that
 * comes or goes. What drifts within a run also differs between runs. What noise explains is taken off. `longRun`: n times
 * the variance of the mean of n steps.
 */
export function driftOf(steps: ArrayLike<number>, longRun: number): number {
  const n = steps.length;
  if (n < MIN_STEPS) return 0;
  const middle = mean(steps);
  const noise = (2 * longRun) / n;
  let squares = 0;
  for (const halves of HALF_WAVES) {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += (steps[i]! - middle) * Math.cos((halves * Math.PI * (i + 0.5)) / n);
    const amplitude = (2 * sum) / n;
    squares += Math.max(0, amplitude ** 2 - significant(n) ** 2 * noise);
  }
  return (2 * Math.sqrt(squares)) / middle;
}
