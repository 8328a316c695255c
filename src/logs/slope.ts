import { mean } from '../base/statistics.js';

/** Fewer points say nothing. */
const MIN_POINTS = 8;
/** A slope with a larger standard error says nothing. */
const MAX_ERROR = 0.15;
/** The causes must vary by this share of the mean effect, or noise decides. */
const MIN_VARIATION = 0.1;

/** Least-squares slope of `effects` over `causes`, with its standard error. Null: unknown. */
export function leastSquares(
  causes: readonly number[],
  effects: readonly number[],
): { slope: number; error: number } | null {
  const n = causes.length;
  if (n < MIN_POINTS) return null;
  const [meanCause, meanEffect] = [mean(causes), mean(effects)];
  let [variance, covariance] = [0, 0];
  for (let i = 0; i < n; i++) {
    variance += (causes[i]! - meanCause) ** 2;
    covariance += (causes[i]! - meanCause) * (effects[i]! - meanEffect);
  }
  if (!(Math.sqrt(variance / n) >= MIN_VARIATION * meanEffect)) return null;
  const slope = covariance / variance;
  const residuals = causes.map((x, i) => effects[i]! - meanEffect - slope * (x - meanCause));
  const error = Math.sqrt(residuals.reduce((sum, r) => sum + r ** 2, 0) / (n - 2) / variance);
  return error <= MAX_ERROR ? { slope, error } : null;
}
