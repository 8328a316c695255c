import { largest } from '../base/statistics.js';
import { type Ns, ns } from '../base/units.js';
import { countedSteps, LAUNCH, type Plan } from './plan.js';

/** From one pass to the next, the step changes by less than this. */
const STEADY = 0.002;
/** The work that a pass leaves to the next one takes less than this share of a step. */
const DRY = 0.01;
const MOST_PASSES = 12;

/**
 * Plays the plan again and again until its steps take as long as in the pass before. The recorded window may begin with
 * seconds of queued work, behind which the host stays hidden: a price would count on that queue, and the running job soon
 * has another one. So the first pass begins with an empty queue. Where the first step counts, steps differ: such a window
 * does not repeat, and is played once, as it began.
 */
export function replaySteady(plan: Plan, recording: RecordingCost, slowdown = 1): Replayed {
  if (plan.steps.includesFirst) return replay(plan, recording, undefined, slowdown);
  let played = replay(plan, recording, emptyQueue(plan), slowdown);
  for (let pass = 1; pass < MOST_PASSES; pass++) {
    if (pass === 1 && largest(played.busyUntil) - played.hostEnd < DRY * played.step) return played;
    const next = replay(plan, recording, standingAfter(played), slowdown);
    const change = Math.abs(next.step - played.step);
    played = next;
    if (change <= STEADY * next.step) break;
  }
  return played;
}

const emptyQueue = ({ begin, streamBusyUntil }: Plan): Standing => ({
  now: begin,
  busyUntil: new Float64Array(streamBusyUntil.length).fill(begin),
  earlierEnds: new Float64Array(),
});

function standingAfter({ hostEnd, busyUntil, end }: Replayed): Standing {
  return { now: hostEnd, busyUntil, earlierEnds: end };
}

/** What recording costs the host. Replaying with it shows the steps without the profiler. Times in ns. */
export interface RecordingCost {
  /** The part of op-dense host time that is the profiler's, 0 to 1. */
  readonly share: number;
  /** Host time counts as op-dense up to this long for each recorded event. The rest is a pause, which recording leaves alone. */
  readonly densePerEvent: number;
  /** A Python frame (with_stack), with the shapes and memory that are recorded along with it. */
  readonly perFrame: number;
  /** A kernel of a CUDA graph. */
  readonly perGraphKernel: number;
  /** A Triton kernel: Inductor takes a slower way to launch it while a profiler runs. */
  readonly perTritonLaunch: number;
}
export const AS_RECORDED: RecordingCost = {
  share: 0,
  densePerEvent: 0,
  perFrame: 0,
  perGraphKernel: 0,
  perTritonLaunch: 0,
};

/** At least this share of a call's host time is not paid for frames and kernels. */
const LEAST_SHARE = 0.15;

/** Making a batch is one long stretch, in which an event takes what it takes on average: half of the most. */
const USUAL_DENSITY = 0.5;

/** Where the host and the device stand when the plan begins. */
export interface Standing {
  readonly now: number;
  readonly busyUntil: Float64Array;
  /** Ends of work launched before, in order of launch. */
  readonly earlierEnds: Float64Array;
}

export interface Replayed {
  /** Step time. */
  readonly step: Ns;
  /** Host time of a step in which its batch is made or awaited. Workers are waited for longer where the host is faster. */
  readonly input: Ns;
  /** When the host ends the last step. */
  readonly hostEnd: number;
  readonly busyUntil: Float64Array;
  readonly frontier: Float64Array;
  /** When each piece of work ran. Removed work has no start (NaN), and ends when its stream is free. */
  readonly start: Float64Array;
  readonly end: Float64Array;
}

/**
 * Plays the plan in one pass. The host goes from call to call. Work starts when it is launched, its stream is free and
 * the work it depends on is done. Calls that wait return when the awaited work has ended. `slowdown`: all that the host
 * does, and waits for other than the device, takes this many times as long.
 */
export function replay(
  plan: Plan,
  recording: RecordingCost,
  standing = recordedStanding(plan),
  slowdown = 1,
): Replayed {
  const { works, steps } = plan;
  // Plain locals: this runs a few dozen times, too rarely for property look-ups to become fast.
  const { kind, hostWork, data, compile, comms, call, events, frames } = plan.nodes;
  const { dataEvents, dataFrames } = plan.nodes;
  const { graphKernels, tritonLaunches } = plan.nodes;
  const { step: stepOfCall, firstWork, workCount, waitsFor, returnLag, awaited } = plan.nodes;
  const { duration, stream, latency, gap, after, afterGap, step: stepOfWork } = works;
  const { share, densePerEvent, perFrame, perGraphKernel, perTritonLaunch } = recording;
  const { earlierEnds } = standing;
  const busyUntil = standing.busyUntil.slice();
  const streams = busyUntil.length;
  const starts = new Float64Array(works.length).fill(Number.NaN);
  const ends = new Float64Array(works.length);
  const frontier = new Float64Array(steps.length).fill(Number.NEGATIVE_INFINITY);
  const hostStart = new Float64Array(steps.length).fill(Number.NaN);
  let now = standing.now;
  let debt = 0;
  let input = 0;
  for (let n = 0; n < plan.nodes.length; n++) {
    const step = stepOfCall[n]!;
    if (step >= 0 && Number.isNaN(hostStart[step]!)) hostStart[step] = now;
    // The recording cost comes off the host's own time. What one call cannot pay, the next ones do.
    debt += frames[n]! * perFrame + graphKernels[n]! * perGraphKernel + tritonLaunches[n]! * perTritonLaunch;
    const own = hostWork[n]! + call[n]!;
    const paid = Math.min(debt, own * (1 - LEAST_SHARE));
    debt -= paid;
    const dense = Math.min(own - paid, (events[n]! + frames[n]!) * densePerEvent);
    const scale = own > 0 ? (own - paid - dense * share) / own : 1;
    now += slowdown * (hostWork[n]! * scale + compile[n]! + comms[n]!);
    if (data[n]! > 0) {
      // Python in between is not recorded: only operators and frames make input slower.
      const paid = Math.min(dataFrames[n]! * perFrame, data[n]! * (1 - LEAST_SHARE));
      const dense = Math.min(data[n]! - paid, dataEvents[n]! * densePerEvent * USUAL_DENSITY);
      const made = slowdown * (data[n]! - paid - dense * share);
      now += made;
      input += made;
    }
    const called = now;
    now += slowdown * call[n]! * scale;
    if (kind[n] !== LAUNCH) {
      for (let s = 0; s < streams; s++) {
        const w = awaited[n * streams + s]!;
        if (w >= 0) now = Math.max(now, ends[w]! + returnLag[n]!);
      }
      continue;
    }
    const last = firstWork[n]! + workCount[n]!;
    for (let w = firstWork[n]!; w < last; w++) {
      const s = stream[w]!;
      if (duration[w]! < 0) {
        // Who waited for it still waits for what came before it on its stream.
        ends[w] = busyUntil[s]!;
        continue;
      }
      let start = Math.max(called + latency[w]!, busyUntil[s]! + gap[w]!);
      const cause = after[w]!;
      if (cause >= 0 && ends[cause]! + afterGap[w]! > start) start = ends[cause]! + afterGap[w]!;
      const end = start + duration[w]!;
      starts[w] = start;
      ends[w] = end;
      if (end > busyUntil[s]!) busyUntil[s] = end;
      const own = stepOfWork[w]!;
      if (own >= 0 && end > frontier[own]!) frontier[own] = end;
    }
    const waited = waitsFor[n]!;
    // A call whose own copy is removed has nothing to wait for.
    if (waited >= firstWork[n]! && duration[waited]! < 0) continue;
    if (waited >= 0) now = Math.max(now, ends[waited]! + returnLag[n]!);
    // −2 is the last of the earlier work.
    else if (waited < -1) now = Math.max(now, (earlierEnds.at(waited + 1) ?? now) + returnLag[n]!);
  }
  let previous = Number.NEGATIVE_INFINITY;
  for (let s = 0; s < steps.length; s++) {
    // A step without work of its own ends when the host goes on to the next.
    if (frontier[s] === Number.NEGATIVE_INFINITY) frontier[s] = nextStart(hostStart, s) ?? now;
    frontier[s] = previous = Math.max(previous, frontier[s]!);
  }
  const from = steps.includesFirst ? steps.begin : frontier[0]!;
  const consumed = (frontier[steps.length - 1]! - from) / countedSteps(steps);
  const step = ns(Math.max(consumed, slowdown * plan.pace));
  return {
    step,
    input: ns(input / steps.length + step - consumed),
    frontier,
    hostEnd: now + plan.tail,
    busyUntil,
    start: starts,
    end: ends,
  };
}

const recordedStanding = (plan: Plan): Standing => ({
  now: plan.begin,
  busyUntil: plan.streamBusyUntil,
  earlierEnds: plan.earlierEnds,
});

/** When the host began the next step that has a call. */
function nextStart(hostStart: Float64Array, step: number): number | undefined {
  return hostStart.subarray(step + 1).find((t) => !Number.isNaN(t));
}
