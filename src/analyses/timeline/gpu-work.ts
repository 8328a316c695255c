import { placeInTable } from '../../model/gpu-links.js';
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
    launchRow[i] = launchOf(r);
  }
  return { length, row, start, end, launchRow };
}

/** Long kernels that began this many places earlier may still run. */
const OVERLAPPING = 256;

/** The part that may run in some time, the next work after it included. */
export function workBetween(work: GpuWork, from: number, to: number): GpuWork {
  const first = Math.max(0, firstFrom(work.start, from) - OVERLAPPING);
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
    if (work[at] !== row) at = work[at + 1] === row ? at + 1 : placeInTable(work, row);
    return launch[at]!;
  };
}
