import { LAUNCH, type Plan, periodsOf } from './plan.js';

/** What recording costs the host, in ns: removed when the plan is played as it would run unprofiled. */
export interface RecordingCost {
  /** An operator, runtime or driver call. */
  readonly perEvent: number;
  /** A Python frame of with_stack. */
  readonly perFrame: number;
  /** A kernel that a CUDA graph launched: the profiler records each, the job launches them at once. */
  readonly perGraphKernel: number;
}
export const AS_RECORDED: RecordingCost = { perEvent: 0, perFrame: 0, perGraphKernel: 0 };

/** However cheap a call is without the profiler, this share of its host time stays. */
const LEAST_SHARE = 0.15;

export interface Replayed {
  /** ns a step. */
  readonly step: number;
  readonly frontier: Float64Array;
  /** When each piece of work ran; NaN: removed. */
  readonly start: Float64Array;
  readonly end: Float64Array;
}

/**
 * Plays the plan: the host goes from call to call; work starts when it was launched, its stream is free and what it
 * depends on is done; calls that wait return when what they wait for has ended. One pass.
 */
export function replay(plan: Plan, recording: RecordingCost): Replayed {
  const { nodes, works, steps } = plan;
  const streams = plan.streamBusyUntil.length;
  const busyUntil = plan.streamBusyUntil.slice();
  const starts = new Float64Array(works.length).fill(Number.NaN);
  const ends = new Float64Array(works.length);
  const frontier = new Float64Array(steps.length).fill(Number.NEGATIVE_INFINITY);
  const hostStart = new Float64Array(steps.length).fill(Number.NaN);
  let now = plan.begin;
  let debt = 0;
  for (let n = 0; n < nodes.length; n++) {
    const step = nodes.step[n]!;
    if (step >= 0 && Number.isNaN(hostStart[step]!)) hostStart[step] = now;
    // The profiler's share comes off the host's own time; what one call cannot pay the next ones do.
    debt +=
      nodes.events[n]! * recording.perEvent +
      nodes.frames[n]! * recording.perFrame +
      nodes.graphKernels[n]! * recording.perGraphKernel;
    const own = nodes.hostWork[n]! + nodes.call[n]!;
    const paid = Math.min(debt, own * (1 - LEAST_SHARE));
    debt -= paid;
    const scale = own > 0 ? (own - paid) / own : 1;
    now += nodes.hostWork[n]! * scale + nodes.data[n]! + nodes.compile[n]! + nodes.comms[n]!;
    const called = now;
    now += nodes.call[n]! * scale;
    if (nodes.kind[n] === LAUNCH) {
      const last = nodes.firstWork[n]! + nodes.workCount[n]!;
      for (let w = nodes.firstWork[n]!; w < last; w++) {
        if (works.duration[w]! < 0) {
          ends[w] = Number.NEGATIVE_INFINITY;
          continue;
        }
        const stream = works.stream[w]!;
        let start = Math.max(called + works.latency[w]!, busyUntil[stream]! + works.gap[w]!);
        const after = works.after[w]!;
        if (after >= 0 && ends[after]! + works.afterGap[w]! > start)
          start = ends[after]! + works.afterGap[w]!;
        const end = start + works.duration[w]!;
        starts[w] = start;
        ends[w] = end;
        if (end > busyUntil[stream]!) busyUntil[stream] = end;
        const s = works.step[w]!;
        if (s >= 0 && end > frontier[s]!) frontier[s] = end;
      }
      const waitsFor = nodes.waitsFor[n]!;
      if (waitsFor >= 0) now = Math.max(now, ends[waitsFor]! + nodes.returnLag[n]!);
    } else {
      for (let s = 0; s < streams; s++) {
        const w = nodes.awaited[n * streams + s]!;
        if (w >= 0) now = Math.max(now, ends[w]! + nodes.returnLag[n]!);
      }
    }
  }
  let previous = Number.NEGATIVE_INFINITY;
  for (let s = 0; s < steps.length; s++) {
    // A step without work of its own ends where the host left it.
    if (frontier[s] === Number.NEGATIVE_INFINITY) frontier[s] = nextStart(hostStart, s) ?? now;
    frontier[s] = previous = Math.max(previous, frontier[s]!);
  }
  const from = steps.wholeFirst ? steps.begin : frontier[0]!;
  return {
    step: (frontier[steps.length - 1]! - from) / periodsOf(steps),
    frontier,
    start: starts,
    end: ends,
  };
}

/** When the host began the next step that made a call. */
function nextStart(hostStart: Float64Array, step: number): number | undefined {
  return hostStart.subarray(step + 1).find((t) => !Number.isNaN(t));
}
