/** All of these keep the unit of their values (units.ts). Values that are NaN are left out of medians and quantiles. */

/** The middle value. NaN for no values. */
export function median<T extends number>(values: Iterable<T>): T {
  return quantile(values, 0.5);
}

/** Linear between neighbours, as in NumPy. NaN for no values. */
export function quantile<T extends number>(values: Iterable<T>, q: number): T {
  const sorted = Float64Array.from(values)
    .filter((v) => !Number.isNaN(v))
    .sort();
  if (sorted.length === 0) return Number.NaN as T;
  const at = (sorted.length - 1) * q;
  const low = Math.floor(at);
  const high = Math.ceil(at);
  return (sorted[low]! + (sorted[high]! - sorted[low]!) * (at - low)) as T;
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

export function mean<T extends number>(values: readonly T[]): T {
  return (values.reduce((sum, v) => sum + v, 0) / values.length) as T;
}
