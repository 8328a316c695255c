import { indexInSorted, partitionPoint } from '../../base/search.js';
import { median } from '../../base/statistics.js';
import { WorkSort } from '../../facts/time-class.js';
import type { Trace } from '../../model/trace.js';
import { NO_I32 } from '../../model/trace-data.js';
import type { PlanWorks } from '../../replay/plan.js';
import type { HostTree } from '../detail/host-tree.js';
import type { KernelKinds } from '../kernels/kernel-kind.js';
import type { GpuWork } from '../timeline/gpu-work.js';
import type { HostSpans } from '../timeline/host-spans.js';
import type { StepTime } from '../timeline/step-times.js';
import { workSorts } from '../timeline/work-sorts.js';

/** Work that starts this much later than its launch and its stream explain waited for another stream. */
const UNEXPLAINED_NS = 3_000;
/** How soon after the end of another stream's work it must start to have waited for it. */
const CAUSED_WITHIN_NS = 20_000;
/** Typical for CUDA, for traces that show no values of their own. */
const USUAL_LATENCY_NS = 6_000;
const USUAL_GAP_NS = 1_000;

/** When work ran in the recording, in the order of the plan. */
export interface Observed {
  readonly end: Float64Array;
  /** The last of the first `launched` pieces of work that had ended at `time`; −1: none. */
  lastDone(time: number, launched: number): number;
  lastDoneOnStream(stream: number, time: number, launched: number): number;
}

interface LaidOut {
  readonly works: PlanWorks;
  readonly observed: Observed;
  readonly streamBusyUntil: Float64Array;
  readonly earlierEnds: Float64Array;
}

/** The work of all calls in the order of launches, and what delayed the start of each. */
export function layOutWorks(input: PlanInput, calls: readonly Call[], begin: number): LaidOut {
  const { trace, work, stepOf, tree } = input;
  const { name, track, copies } = trace.data;
  const length = calls.reduce((n, c) => n + c.works.length, 0);
  const f64 = () => new Float64Array(length);
  const u32 = () => new Uint32Array(length);
  const [called, start, end, duration, bytes] = [f64(), f64(), f64(), f64(), f64()];
  const [roles, kernel] = [u32(), u32()];
  const [sort, stream] = [new Uint8Array(length), new Uint8Array(length)];
  const step = new Int32Array(length);
  const sorts = workSorts(input.kinds);
  const streamOf = new Map<number, number>();
  const streams = new Map<string, number>();
  // One loop over all columns: mapping each by itself takes several times as long.
  let next = 0;
  for (const call of calls) {
    for (const i of call.works) {
      const w = next++;
      const r = work.row[i]!;
      called[w] = call.start;
      roles[w] = call.index < 0 ? 0 : tree.roles[call.index]!;
      start[w] = work.start[i]!;
      end[w] = work.end[i]!;
      duration[w] = end[w]! - start[w]!;
      kernel[w] = input.kernelOf(name[r]!);
      sort[w] = sorts[name[r]!]!;
      step[w] = stepOf[i]!;
      if (sort[w]! > WorkSort.comms) bytes[w] = copies.bytes[indexInSorted(copies.row, r)] || 0;
      if (!streamOf.has(track[r]!)) streamOf.set(track[r]!, numberOfStream(trace, r, streams));
      stream[w] = streamOf.get(track[r]!)!;
    }
  }
  const { busyUntil, earlierEnds } = earlierWork(input, streamOf, begin);
  const previousEnd = previousEnds(stream, end, busyUntil);

  const idleStarts: number[] = [];
  const queuedGaps: number[] = [];
  for (let w = 0; w < length; w++) {
    if (previousEnd[w]! < called[w]!) idleStarts.push(start[w]! - called[w]!);
    else if (previousEnd[w]! > called[w]! + 20_000) queuedGaps.push(start[w]! - previousEnd[w]!);
  }
  const launchLatency = orElse(median(idleStarts), USUAL_LATENCY_NS);
  const queuedGap = orElse(median(queuedGaps), USUAL_GAP_NS);

  const observed = observe(stream, end, busyUntil.length);
  const latency = new Float64Array(length);
  const gap = new Float64Array(length);
  const after = new Int32Array(length).fill(-1);
  const afterGap = new Float64Array(length);
  for (let w = 0; w < length; w++) {
    const sinceCall = start[w]! - called[w]!;
    const sinceStream = start[w]! - previousEnd[w]!;
    const earliest = Math.max(called[w]! + launchLatency, previousEnd[w]! + queuedGap);
    latency[w] = Math.min(sinceCall, launchLatency);
    gap[w] = Math.min(sinceStream, queuedGap);
    if (start[w]! - earliest > UNEXPLAINED_NS) {
      const cause = endsJustBefore(observed, stream[w]!, busyUntil.length, start[w]!, w);
      if (cause >= 0) {
        after[w] = cause;
        afterGap[w] = start[w]! - end[cause]!;
        continue;
      }
    }
    // Whichever came last delayed it, by exactly the recorded time.
    if (called[w]! + launchLatency >= previousEnd[w]!) latency[w] = sinceCall;
    else gap[w] = sinceStream;
  }
  const works = { length, duration, stream, latency, gap, after, afterGap, roles, kernel, sort, bytes, step };
  return { works, observed, streamBusyUntil: busyUntil, earlierEnds };
}

const orElse = (value: number, usual: number) => (Number.isNaN(value) ? usual : value);

/** A stream may have several tracks: `whyslow slim` puts work that overlaps on a further one, because Perfetto would drop it. */
function numberOfStream({ data }: Trace, row: number, streams: Map<string, number>): number {
  const { gpu, track, tracks } = data;
  const i = indexInSorted(gpu.row, row);
  const stream = gpu.stream[i] ?? NO_I32;
  const { pid, tid } = tracks[track[row]!]!;
  const key = stream === NO_I32 ? `${pid} track ${tid}` : `${pid} ${gpu.device[i]} ${stream}`;
  const known = streams.get(key) ?? Math.min(streams.size, 255);
  streams.set(key, known);
  return known;
}

/** Work launched before the plan begins that is not done by then: until when it keeps each stream busy, and its ends. */
function earlierWork({ trace, work, stepOf }: PlanInput, streamOf: Map<number, number>, begin: number) {
  const busyUntil = new Float64Array(streamOf.size).fill(begin);
  const ends: number[] = [];
  for (let i = 0; i < work.length; i++) {
    if (stepOf[i]! >= 0) break;
    const s = streamOf.get(trace.data.track[work.row[i]!]!);
    if (s === undefined || work.end[i]! <= begin) continue;
    ends.push(work.end[i]!);
    if (work.end[i]! > busyUntil[s]!) busyUntil[s] = work.end[i]!;
  }
  return { busyUntil, earlierEnds: Float64Array.from(ends) };
}

/** For each piece of work, when the work before it on its stream ended. */
function previousEnds(stream: Uint8Array, end: Float64Array, busyUntil: Float64Array): Float64Array {
  const last = busyUntil.slice();
  return end.map((e, w) => {
    const s = stream[w]!;
    const before = last[s]!;
    if (e > before) last[s] = e;
    return before;
  });
}

function observe(stream: Uint8Array, end: Float64Array, streams: number): Observed {
  // On a stream, work ends in the order of its launch: a binary search finds the last that was done.
  const onStream: number[][] = Array.from({ length: streams }, () => []);
  for (let w = 0; w < stream.length; w++) onStream[stream[w]!]!.push(w);
  const lastDoneOnStream = (s: number, time: number, launched: number) => {
    const list = onStream[s]!;
    return list[partitionPoint(list.length, (i) => list[i]! < launched && end[list[i]!]! <= time) - 1] ?? -1;
  };
  const lastDone = (time: number, launched: number) => {
    let best = -1;
    for (let s = 0; s < streams; s++) best = Math.max(best, lastDoneOnStream(s, time, launched));
    return best;
  };
  return { end, lastDone, lastDoneOnStream };
}

/** The work of another stream that ended last before `start`, if it ended just before; −1: none. */
function endsJustBefore(
  observed: Observed,
  own: number,
  streams: number,
  start: number,
  launched: number,
): number {
  let cause = -1;
  for (let s = 0; s < streams; s++) {
    if (s === own) continue;
    const w = observed.lastDoneOnStream(s, start, launched);
    if (w < 0 || start - observed.end[w]! > CAUSED_WITHIN_NS) continue;
    if (cause < 0 || observed.end[w]! > observed.end[cause]!) cause = w;
  }
  return cause;
}

export interface PlanInput {
  readonly trace: Trace;
  readonly kinds: KernelKinds;
  /** Index in `TraceFacts.kernels` of a name, given by its string id. */
  kernelOf(name: number): number;
  readonly work: GpuWork;
  /** For each piece of work the index of its step; −1: none. */
  readonly stepOf: Int32Array;
  readonly host: HostSpans;
  readonly tree: HostTree;
  /** The first steps of the trace. */
  readonly steps: readonly StepTime[];
  /** Count the first step too, from `begin`. */
  readonly includesFirst: boolean;
  readonly begin: number;
  /** Step time that the loader's workers set (detail/loader-queue.ts); 0: they do not. */
  readonly pace: number;
  /** Starts of recorded Python frames on the training threads. */
  readonly frames: Float64Array;
}

/** A host call that starts GPU work or waits for it. */
export interface Call {
  readonly row: number;
  /** Index in the host tree; −1: not in it. */
  readonly index: number;
  readonly start: number;
  readonly end: number;
  /** Indices of the GPU work it launched, in order of start. Empty: it synchronizes. */
  readonly works: number[];
}
