import { inBlocks } from '../../base/blocks.js';
import { lengthOf, SpanUnion, subtract, union, unionOf } from '../../base/intervals.js';
import { largest } from '../../base/statistics.js';
import { type Share, share } from '../../base/units.js';
import { WorkSort } from '../../facts/time-class.js';
import { Category } from '../../model/category.js';
import type { Trace } from '../../model/trace.js';
import { NO_I32, NO_ID } from '../../model/trace-data.js';
import type { KernelKinds } from '../kernels/kernel-kind.js';
import type { GpuWork } from './gpu-work.js';
import { workSorts } from './work-sorts.js';

/** Interval unions over the file's GPU work, defined like HTA's temporal breakdown so that the two can be compared. ns. */
export interface GpuUnions {
  readonly span: number;
  readonly compute: number;
  /** Communication, copies, fills and recorded stream synchronization, where nothing computes. */
  readonly nonCompute: number;
  readonly idle: number;
  /** Share of communication that computation covers. Null: no communication. */
  readonly commOverlap: Share | null;
}

/**
 * With two or more steps, only work counts whose launch was recorded before the end of the last step. With fewer, all work
 * counts. Verdicts do not use these figures.
 */
export function gpuUnions(trace: Trace, work: GpuWork, kinds: KernelKinds): GpuUnions | null {
  const until = lastStepEnd(trace);
  const { correlation, name, ts } = trace.data;
  const sorts = workSorts(kinds);
  const compute = new SpanUnion();
  const comms = new SpanUnion();
  /** Work is in order of start, so its union needs no sorting or merging. */
  const working = new SpanUnion();
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  inBlocks(work.length, (from, to) => {
    for (let i = from; i < to; i++) {
      const row = work.row[i]!;
      const launch = work.launchRow[i]!;
      const counts = until === null || (launch < 0 ? correlation[row] === NO_ID : ts[launch]! <= until);
      if (!counts) continue;
      const sort = sorts[name[row]!]!;
      const start = work.start[i]!;
      const end = work.end[i]!;
      working.add(start, end);
      if (sort === WorkSort.compute) compute.add(start, end);
      else if (sort === WorkSort.comms) comms.add(start, end);
      if (start < first) first = start;
      if (end > last) last = end;
    }
  });
  const syncs = streamSyncs(trace, until);
  if (!(last >= first)) return null;
  for (const [start, end] of syncs) {
    first = Math.min(first, start);
    last = Math.max(last, end);
  }
  const [computing, communicating] = [compute.finish(), comms.finish()];
  const busy = union(working.finish(), unionOf(syncs));
  const span = last - first;
  const computeNs = lengthOf(computing);
  const commsNs = lengthOf(communicating);
  return {
    span,
    compute: computeNs,
    nonCompute: lengthOf(busy) - computeNs,
    idle: span - lengthOf(busy),
    commOverlap: commsNs === 0 ? null : share(1 - lengthOf(subtract(communicating, computing)) / commsNs),
  };
}

function lastStepEnd(trace: Trace): number | null {
  const { steps } = trace;
  return new Set(steps.map((s) => s.index)).size < 2 ? null : largest(steps.map((s) => s.endNs));
}

/** CUPTI's synchronization records that name a stream (−1: none). Rare: the profiler must be asked for them. */
function streamSyncs(trace: Trace, until: number | null): (readonly [start: number, end: number])[] {
  const { data } = trace;
  const { gpu, ts, dur, correlation } = data;
  if (!data.kinds.some((k) => k.category === Category.sync)) return [];
  const wide = new Set(data.wideIds.filter((w) => w.field === 'gpu.stream').map((w) => w.row));
  const calls = new Map<number, number>();
  if (until !== null) {
    const isCall = (c: number) => c === Category.runtime || c === Category.driver;
    for (const row of trace.index.ofKinds((k) => isCall(k.category))) calls.set(correlation[row]!, ts[row]!);
  }
  const spans: (readonly [number, number])[] = [];
  gpu.row.forEach((row, i) => {
    if (trace.category(row) !== Category.sync) return;
    const stream = gpu.stream[i]!;
    if (stream === -1 || (stream === NO_I32 && !wide.has(row))) return;
    const called = calls.get(correlation[row]!);
    if (until !== null && !(called !== undefined && called <= until)) return;
    spans.push([ts[row]!, ts[row]! + dur[row]!]);
  });
  return spans;
}
