/** Middle value; NaN for none. Values that are no numbers are left out. */
export function median(values: Iterable<number>): number {
  return quantile(values, 0.5);
}

/** Linear between neighbours, as NumPy does it. */
export function quantile(values: Iterable<number>, q: number): number {
  const sorted = Float64Array.from(values)
    .filter((v) => !Number.isNaN(v))
    .sort();
  if (sorted.length === 0) return Number.NaN;
  const at = (sorted.length - 1) * q;
  const low = Math.floor(at);
  const high = Math.ceil(at);
  return sorted[low]! + (sorted[high]! - sorted[low]!) * (at - low);
}

/** Like Math.max over a list of any length; −Infinity for none. */
export function largest(values: ArrayLike<number>): number {
  let max = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < values.length; i++) if (values[i]! > max) max = values[i]!;
  return max;
}

export function smallest(values: ArrayLike<number>): number {
  let min = Number.POSITIVE_INFINITY;
  for (let i = 0; i < values.length; i++) if (values[i]! < min) min = values[i]!;
  return min;
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, v) => sum + v, 0) / values.length;
}
