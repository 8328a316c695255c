/** Binary searches. `sorted` is in ascending order. */

/** Index of the first entry for which `isBefore` is false. It must be true for some first entries and false for the rest. */
export function partitionPoint(length: number, isBefore: (index: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Index of the first value at or above `value`; the length when there is none. */
export function lowerBound(sorted: ArrayLike<number>, value: number): number {
  return partitionPoint(sorted.length, (i) => sorted[i]! < value);
}

/** Index of the first value above `value`; the length when there is none. */
export function upperBound(sorted: ArrayLike<number>, value: number): number {
  return partitionPoint(sorted.length, (i) => sorted[i]! <= value);
}

/** Index of `value`, of the first of several; −1 when it is not there. */
export function indexInSorted(sorted: ArrayLike<number>, value: number): number {
  const index = lowerBound(sorted, value);
  return sorted[index] === value ? index : -1;
}

/** Indices of values, smallest first; equal values keep their order. Values that are in order already are not sorted. */
export function ascendingOrder(values: Float64Array): Uint32Array {
  const order = new Uint32Array(values.length);
  let isSorted = true;
  for (let i = 0; i < values.length; i++) {
    order[i] = i;
    if (i > 0 && values[i]! < values[i - 1]!) isSorted = false;
  }
  return isSorted ? order : order.sort((a, b) => values[a]! - values[b]!);
}
