import { inBlocks } from '../base/blocks.js';
import type { TraceData } from './trace-data.js';

/**
 * Sorts rows by start time, longest first where starts are equal, so that callers come before what they call. A trace is
 * a few sorted runs one after the other (operators, then runtime calls, ...). They are found and merged, which takes one
 * pass when everything is sorted already. Rows without a time (NaN) must have been left out.
 */
export function sortByTime(rows: Uint32Array, ts: Float64Array, dur: TraceData['dur']): Uint32Array {
  let runs = findRuns(rows, ts, dur);
  let from: Uint32Array = rows;
  let to: Uint32Array = new Uint32Array(rows.length);
  while (runs.length > 2) {
    const merged: number[] = [0];
    for (let r = 0; r + 1 < runs.length; r += 2) {
      const end = runs[Math.min(r + 2, runs.length - 1)]!;
      merge(from, to, runs[r]!, runs[r + 1]!, end, ts, dur);
      merged.push(end);
    }
    runs = merged;
    [from, to] = [to, from];
  }
  return from;
}

function findRuns(rows: Uint32Array, ts: Float64Array, dur: TraceData['dur']): number[] {
  const bounds = [0];
  inBlocks(rows.length, (from, to) => {
    for (let i = Math.max(1, from); i < to; i++) if (after(rows[i - 1]!, rows[i]!, ts, dur)) bounds.push(i);
  });
  if (rows.length > 0) bounds.push(rows.length);
  return bounds;
}

/** Whether row a must come after row b. */
function after(a: number, b: number, ts: Float64Array, dur: TraceData['dur']): boolean {
  const ta = ts[a]!;
  const tb = ts[b]!;
  if (ta !== tb) return ta > tb;
  return dur[a]! < dur[b]!;
}

function merge(
  from: Uint32Array,
  to: Uint32Array,
  start: number,
  middle: number,
  end: number,
  ts: Float64Array,
  dur: TraceData['dur'],
): void {
  // The runs do not overlap in time, e.g. two profiler windows: nothing to merge.
  if (middle >= end || !after(from[middle - 1]!, from[middle]!, ts, dur)) {
    to.set(from.subarray(start, end), start);
    return;
  }
  // The times of both heads are kept in locals: each turn looks up only the one that moved.
  let left = start;
  let right = middle;
  let leftTs = ts[from[left]!]!;
  let rightTs = ts[from[right]!]!;
  for (let i = start; i < end; i++) {
    if (leftTs < rightTs || (leftTs === rightTs && dur[from[left]!]! >= dur[from[right]!]!)) {
      to[i] = from[left++]!;
      if (left === middle) {
        to.set(from.subarray(right, end), i + 1);
        return;
      }
      leftTs = ts[from[left]!]!;
    } else {
      to[i] = from[right++]!;
      if (right === end) {
        to.set(from.subarray(left, middle), i + 1);
        return;
      }
      rightTs = ts[from[right]!]!;
    }
  }
}
