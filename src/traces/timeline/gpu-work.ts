import { inBlocks } from '../../base/blocks.js';
import { indexInSorted, lowerBound } from '../../base/search.js';
import { sortByTime } from '../../model/time-order.js';
import type { Trace } from '../../model/trace.js';

/** The device's work in order of start, with the call that launched each piece. Times in ns of the trace. */
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
  inBlocks(length, (from, to) => {
    for (let i = from; i < to; i++) {
      const r = row[i]!;
      start[i] = ts[r]!;
      end[i] = ts[r]! + Math.max(0, dur[r]!);
      const launch = launchOf(r);
      // A launch without a time is no use.
      launchRow[i] = launch >= 0 && Number.isNaN(ts[launch]!) ? -1 : launch;
    }
  });
  return { length, row, start, end, launchRow };
}

/** The work that may run in [from, to], and the next one after it. */
export function workBetween(work: GpuWork, from: number, to: number): GpuWork {
  // A long kernel may have begun far earlier.
  const started = lowerBound(work.start, from);
  let first = 0;
  while (first < started && work.end[first]! <= from) first++;
  const last = Math.min(work.length, lowerBound(work.start, to) + 1);
  if (first === 0 && last === work.length) return work;
  return {
    length: last - first,
    row: work.row.subarray(first, last),
    start: work.start.subarray(first, last),
    end: work.end.subarray(first, last),
    launchRow: work.launchRow.subarray(first, last),
  };
}

/** Rows ascend in `links.work`. The one asked for is usually next; else it is searched for. */
function launchLookup(trace: Trace): (row: number) => number {
  const { work, launch } = trace.links;
  let index = 0;
  return (row) => {
    if (work[index] !== row) index = work[index + 1] === row ? index + 1 : indexInSorted(work, row);
    return launch[index]!;
  };
}
