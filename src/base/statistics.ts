import { lowerBound } from './search.js';

/** All of these keep the unit of their values (units.ts). Medians and quantiles ignore NaN. */

/** The middle value. NaN for no values. */
export function median<T extends number>(values: Iterable<T>): T {
  return quantile(values, 0.5);
}

/** Linear between neighbors, as in NumPy. NaN for no values. */
export function quantile<T extends number>(values: Iterable<T>, q: number): T {
  // The constructor is several times as fast as Float64Array.from. NaN comes last.
  const sorted = (Array.isArray(values) ? new Float64Array(values) : Float64Array.from(values)).sort();
  let length = sorted.length;
  while (length > 0 && Number.isNaN(sorted[length - 1]!)) length--;
  if (length === 0) return Number.NaN as T;
  const at = (length - 1) * q;
  const low = Math.floor(at);
  const high = Math.ceil(at);
  return (sorted[low]! + (sorted[high]! - sorted[low]!) * (at - low)) as T;
}

/** For each value the median of all others. Sorts once: with thousands of values, a median for each would take too long. */
export function mediansOfOthers(values: readonly number[]): readonly number[] {
  const sorted = Float64Array.from(values)
    .filter((v) => !Number.isNaN(v))
    .sort();
  return values.map((value) => {
    const own = Number.isNaN(value) ? sorted.length : lowerBound(sorted, value);
    const count = sorted.length - (own < sorted.length ? 1 : 0);
    if (count === 0) return Number.NaN;
    const at = (k: number) => sorted[k < own ? k : k + 1]!;
    const [low, high] = [at(Math.floor((count - 1) / 2)), at(Math.ceil((count - 1) / 2))];
    return low + (high - low) / 2;
  });
}

/** Math.max over a list of any length. −Infinity for no values. */
export function largest<T extends number>(values: ArrayLike<T>): T {
  let max: number = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < values.length; i++) if (values[i]! > max) max = values[i]!;
  return max as T;
}

export function smallest<T extends number>(values: ArrayLike<T>): T {
  let min: number = Number.POSITIVE_INFINITY;
  for (let i = 0; i < values.length; i++) if (values[i]! < min) min = values[i]!;
  return min as T;
}

/** NaN for no values. */
export function mean<T extends number>(values: ArrayLike<T>): T {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return (sum / values.length) as T;
}

/** 1.4826 · MAD: estimates the standard deviation and ignores outliers. */
export function robustDeviation<T extends number>(values: readonly T[]): T {
  const middle = median(values);
  return (1.4826 * median(values.map((v) => Math.abs(v - middle)))) as T;
}
