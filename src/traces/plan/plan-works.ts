import { indexInSorted } from '../../base/search.js';
import { median } from '../../base/statistics.js';
import { WorkSort } from '../../facts/work-sort.js';
import type { PlanWorks } from '../../replay/plan.js';
import { workSorts } from '../timeline/work-sorts.js';
import type { Call, PlanInput } from './plan-input.js';

/** A start later than this after all that is known to hold it back waited for another stream. */
const UNEXPLAINED_NS = 3_000;
/** How soon after another stream's work a start must come to be caused by it. */
const CAUSED_WITHIN_NS = 20_000;
/** Typical values of CUDA on current machines, for traces that show none of their own. */
const USUAL_LATENCY_NS = 6_000;
const USUAL_GAP_NS = 1_000;

/** When work really ran, in the order of the plan. */
export interface Observed {
  readonly end: Float64Array;
  /** Last work before `launched` (in the order of launches) that had ended at `time`; −1: none. */
  lastDone(time: number, launched: number): number;
  lastDoneOnStream(stream: number, time: number, launched: number): number;
}

interface LaidOut {
  readonly works: PlanWorks;
  readonly observed: Observed;
  readonly streamBusyUntil: Float64Array;
}

/** The work of all calls in the order of their launch, and for each what held back its start. */
export function layOutWorks(input: PlanInput, calls: readonly Call[], begin: number): LaidOut {
  const { trace, work, stepOf, firstStep, tree } = input;
  const { name, track, copies } = trace.data;
  const length = calls.reduce((n, c) => n + c.works.length, 0);
  const f64 = () => new Float64Array(length);
  const u32 = () => new Uint32Array(length);
  const [called, start, end, duration, bytes] = [f64(), f64(), f64(), f64(), f64()];
  const [row, roles, kernel] = [u32(), u32(), u32()];
  const [sort, stream] = [new Uint8Array(length), new Uint8Array(length)];
  const step = new Int32Array(length);
  const sorts = workSorts(input.kinds);
  const streamOf = new Map<number, number>();
  // One loop over all columns: it runs once, and mapping each column by itself takes several times as long.
  let next = 0;
  for (const call of calls) {
    for (const i of call.works) {
      const w = next++;
      const r = work.row[i]!;
      row[w] = r;
      called[w] = call.start;
      roles[w] = call.place < 0 ? 0 : tree.roles[call.place]!;
      start[w] = work.start[i]!;
      end[w] = work.end[i]!;
      duration[w] = end[w]! - start[w]!;
      kernel[w] = input.kernelOf(name[r]!);
      sort[w] = sorts[name[r]!]!;
      step[w] = stepOf[i]! - firstStep;
      if (sort[w]! > WorkSort.comms) bytes[w] = copies.bytes[indexInSorted(copies.row, r)] || 0;
      let s = streamOf.get(track[r]!);
      if (s === undefined) {
        s = Math.min(streamOf.size, 255);
        streamOf.set(track[r]!, s);
      }
      stream[w] = s;
    }
  }
  const busyUntil = earlierWork(input, streamOf, begin);
  const previousEnd = ends(stream, end, busyUntil);

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
    // Whichever came last held it back, and by exactly as long as was seen.
    if (called[w]! + launchLatency >= previousEnd[w]!) latency[w] = sinceCall;
    else gap[w] = sinceStream;
  }
  const works: PlanWorks = {
    ...{ length, duration, stream, latency, gap, after, afterGap, roles, row, kernel, sort, bytes, step },
  };
  return { works, observed, streamBusyUntil: busyUntil };
}

const orElse = (value: number, usual: number) => (Number.isNaN(value) ? usual : value);

/** Until when each stream is busy with work launched before the plan begins. */
function earlierWork(
  { trace, work, stepOf, firstStep }: PlanInput,
  streamOf: Map<number, number>,
  begin: number,
) {
  const busyUntil = new Float64Array(streamOf.size).fill(begin);
  for (let i = 0; i < work.length; i++) {
    if (stepOf[i]! >= firstStep) break;
    const s = streamOf.get(trace.data.track[work.row[i]!]!);
    if (s !== undefined && work.end[i]! > busyUntil[s]!) busyUntil[s] = work.end[i]!;
  }
  return busyUntil;
}

function ends(stream: Uint8Array, end: Float64Array, busyUntil: Float64Array): Float64Array {
  const last = busyUntil.slice();
  return end.map((e, w) => {
    const s = stream[w]!;
    const before = last[s]!;
    if (e > before) last[s] = e;
    return before;
  });
}

function observe(stream: Uint8Array, end: Float64Array, streams: number): Observed {
  // On a stream work ends in the order of its launch, so the last that was done is found by halving.
  const onStream: number[][] = Array.from({ length: streams }, () => []);
  for (let w = 0; w < stream.length; w++) onStream[stream[w]!]!.push(w);
  const lastDoneOnStream = (s: number, time: number, launched: number) => {
    const list = onStream[s]!;
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const w = list[middle]!;
      if (w < launched && end[w]! <= time) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? -1 : list[low - 1]!;
  };
  const lastDone = (time: number, launched: number) => {
    let best = -1;
    for (let s = 0; s < streams; s++) best = Math.max(best, lastDoneOnStream(s, time, launched));
    return best;
  };
  return { end, lastDone, lastDoneOnStream };
}

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
