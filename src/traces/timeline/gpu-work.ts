import { indexInSorted } from '../../base/search.js';
import { sortByTime } from '../../model/time-order.js';
import type { Trace } from '../../model/trace.js';

/** All work of the device in order of start, with the call that launched each. Times in ns of the trace. */
export interface GpuWork {
  readonly length: number;
  readonly row: Uint32Array;
  readonly start: Float64Array;
  readonly end: Float64Array;
  /** Row of the launching call; −1: none recorded. */
  readonly launchRow: Int32Array;
}

export function orderGpuWork(trace: Trace): GpuWork {
  const { data, links } = trace;
  const { ts, dur } = data;
  const timed = links.work.every((row) => !Number.isNaN(ts[row]!))
    ? links.work
    : links.work.filter((r) => !Number.isNaN(ts[r]!));
  const row = sortByTime(timed.slice(), ts, dur);
  const launchOf = launchLookup(trace);
  const length = row.length;
  const start = new Float64Array(length);
  const end = new Float64Array(length);
  const launchRow = new Int32Array(length);
  for (let i = 0; i < length; i++) {
    const r = row[i]!;
    start[i] = ts[r]!;
    end[i] = ts[r]! + Math.max(0, dur[r]!);
    const launch = launchOf(r);
    // A launch without a time is as good as none.
    launchRow[i] = launch >= 0 && Number.isNaN(ts[launch]!) ? -1 : launch;
  }
  return { length, row, start, end, launchRow };
}

/** The part that may run in some time, the next work after it included. */
export function workBetween(work: GpuWork, from: number, to: number): GpuWork {
  // A long kernel may have begun far earlier.
  const started = firstFrom(work.start, from);
  let first = 0;
  while (first < started && work.end[first]! <= from) first++;
  const last = Math.min(work.length, firstFrom(work.start, to) + 1);
  if (first === 0 && last === work.length) return work;
  return {
    length: last - first,
    row: work.row.subarray(first, last),
    start: work.start.subarray(first, last),
    end: work.end.subarray(first, last),
    launchRow: work.launchRow.subarray(first, last),
  };
}

/** Place of the first value that is not below. */
function firstFrom(sorted: Float64Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Work rows ascend in the links: the place of a row is found by halving, and is usually the next one. */
function launchLookup(trace: Trace): (row: number) => number {
  const { work, launch } = trace.links;
  let at = 0;
  return (row) => {
    if (work[at] !== row) at = work[at + 1] === row ? at + 1 : indexInSorted(work, row);
    return launch[at]!;
  };
}
