import { mean } from '../base/statistics.js';

/** Fewer points or more doubt than this and the slope says nothing. */
const MIN_POINTS = 8;
const MAX_ERROR = 0.15;
/** How much the causes must vary, against the mean effect, for noise not to decide. */
const MIN_VARIATION = 0.1;

/** By how much `effects` grow when `causes` do (least squares), with its standard error; null when it cannot be told. */
export function slopeOf(
  causes: readonly number[],
  effects: readonly number[],
): { slope: number; error: number } | null {
  const n = causes.length;
  if (n < MIN_POINTS) return null;
  const [c, e] = [mean(causes), mean(effects)];
  let [cc, ce] = [0, 0];
  for (let i = 0; i < n; i++) {
    cc += (causes[i]! - c) ** 2;
    ce += (causes[i]! - c) * (effects[i]! - e);
  }
  if (!(Math.sqrt(cc / n) >= MIN_VARIATION * e)) return null;
  const slope = ce / cc;
  const rest = causes.reduce((sum, x, i) => sum + (effects[i]! - e - slope * (x - c)) ** 2, 0);
  const error = Math.sqrt(rest / (n - 2) / cc);
  return error <= MAX_ERROR ? { slope, error } : null;
}
