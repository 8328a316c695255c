import { mean } from '../../base/statistics.js';

/** Slow waves that are looked for: half a wave over the run (a drift in one direction), a whole one, one and a half. */
const HALF_WAVES = [1, 2, 3];
/** With fewer steps a wave says nothing. */
const MIN_STEPS = 10;
/** The noise of a short run is hardly known, so its waves must be larger. */
const uncertain = (steps: number) => 1 + 6 / steps;

/** Slow waves in the steps of a run. */
export interface Waves {
  /** Squared heights, in standard errors: 1 on average where there is only noise. */
  readonly squares: readonly number[];
  /** One standard error of a height, as a share of the mean step. */
  readonly error: number;
}

export const NO_WAVES: Waves = { squares: [], error: 0 };

/** `longRun`: n times the variance of the mean of n steps. */
export function wavesOf(steps: ArrayLike<number>, longRun: number): Waves {
  const n = steps.length;
  if (n < MIN_STEPS || !(longRun > 0)) return NO_WAVES;
  const middle = mean(steps);
  const error = Math.sqrt((2 * longRun) / n) * uncertain(n);
  const squares = HALF_WAVES.map((halves) => {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += (steps[i]! - middle) * Math.cos((halves * Math.PI * (i + 0.5)) / n);
    return ((2 * sum) / n / error) ** 2;
  });
  return { squares, error: error / middle };
}

/** Taken off the square of each wave: most of what noise explains. */
const OF_NOISE = 4.5;

/**
 * How far each run drifted, from its lowest to its highest, as a share of its mean: a machine that warms up, a neighbor that
 * comes or goes. What drifts within a run also differs between runs. Noise alone lifts one of six waves above the bound in every
 * eighth comparison, and what that adds to the interval hides a real 5%. So waves count only if those of all runs together,
 * or the largest by itself, are more than noise.
 */
export function driftsOf(runs: readonly Waves[]): number[] {
  const squares = runs.flatMap((run) => run.squares);
  const sum = squares.reduce((all, square) => all + square, 0);
  const isNoise = sum < usualSum(squares.length) && squares.every((s) => s < usualLargest(squares.length));
  return runs.map((run) => {
    const excess = run.squares.reduce((all, square) => all + Math.max(0, square - OF_NOISE), 0);
    return isNoise ? 0 : 2 * run.error * Math.sqrt(excess);
  });
}

/** The 90% quantile of χ² (Wilson and Hilferty). With 95%, more is found, but a drift is overlooked more often: decision 0029. */
const usualSum = (count: number) => count * (1 - 2 / (9 * count) + 1.28 * Math.sqrt(2 / (9 * count))) ** 3;

/** Of six squares, noise lifts the largest above 7.5 in 4% of all comparisons; of more of them, above this. */
const usualLargest = (count: number) => 7.5 + 2 * Math.log(count / 6);
