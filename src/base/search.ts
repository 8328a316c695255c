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
