import { clip, lengthOf, type Spans, SpanUnion, subtract, union } from '../base/intervals.js';
import { quantile } from '../base/statistics.js';
import { type Ns, ns } from '../base/units.js';
import { WorkSort } from '../facts/time-class.js';
import { countedSteps, type Plan } from './plan.js';
import { AS_RECORDED, type RecordingCost, type Replayed, replay, replaySteady } from './replay.js';

/**
 * The part of op-dense host time that is left without the profiler: 0.52 where a launch takes 7 µs under the profiler, less
 * where it takes longer, by the square root. Fitted on 35 loops with ground truth (docs/method/recording-cost.md).
 */
const LEFT = 0.52;
const USUAL_LAUNCH_NS = 7000;
/** Launches of the zoo take 5 to 8.3 µs. Beyond, the curve is a guess: it stays near what was measured. */
const LEFT_BETWEEN = { least: 0.35, most: 0.9 } as const;
/** Host time is op-dense up to two launches long for each recorded event. On average an event takes half of that. */
const DENSE_LAUNCHES = 2;
const PER_FRAME_NS = 3000;
const PER_GRAPH_KERNEL_NS = 1000;
const PER_TRITON_LAUNCH_NS = 12_000;
/** Fewer launches say little about the host's speed. */
const ENOUGH_LAUNCHES = 100;
/** Quantile of the launch time: a quick launch, but not the quickest. */
const QUICK = 0.3;
/** What is left is this much less or more than estimated in one host-bound loop of five. */
export const UNCERTAIN = 1.2;

export type RecordingCosts = Readonly<Record<'low' | 'likely' | 'high', RecordingCost>>;

/** What recording cost on the machine that made this plan. `left`: the fitted constant, which zoo/calibrate.ts varies. */
export function recordingOf(plan: Plan | null, left = LEFT): RecordingCosts {
  const launch = (plan && launchTime(plan)) ?? USUAL_LAUNCH_NS;
  const likely = left * Math.sqrt(USUAL_LAUNCH_NS / launch);
  const cost = (part: number): RecordingCost => ({
    share: 1 - Math.min(LEFT_BETWEEN.most, Math.max(LEFT_BETWEEN.least, part)),
    densePerEvent: DENSE_LAUNCHES * launch,
    perFrame: PER_FRAME_NS,
    perGraphKernel: PER_GRAPH_KERNEL_NS,
    perTritonLaunch: PER_TRITON_LAUNCH_NS,
  });
  return { low: cost(likely * UNCERTAIN), likely: cost(likely), high: cost(likely / UNCERTAIN) };
}

/** For a trace that cannot be replayed. */
export function costOfEvents(plan: Plan | null, events: number, frames: number): Ns {
  const { share, densePerEvent, perFrame } = recordingOf(plan).likely;
  return ns(((events + frames) * share * densePerEvent) / DENSE_LAUNCHES + frames * perFrame);
}

/**
 * Without a GPU nothing but operators and frames is recorded, and that is cheaper. What it costs depends on the machine, 0.3 to 2 µs per
 * operator, so it is counted in the recorded times of operators that do nothing but make a view. Fitted on 18 loops
 * (zoo/calibrate-cpu.ts, docs/method/recording-cost.md); the cost of a frame is that of two loops with stacks.
 */
const VIEWS_PER_OPERATOR = 2.8;
const VIEWS_PER_FRAME = 3;
/** If the trace has too few views: between the fast and the slow machine of the fit (0.13 to 0.8 µs). */
const USUAL_VIEW_NS = 230;

/** For a job without a GPU. `viewTime`: see HostTree. */
export const costOnCpu = (
  operators: number,
  frames: number,
  viewTime: number | null,
  perOperator = VIEWS_PER_OPERATOR,
): Ns => ns((viewTime ?? USUAL_VIEW_NS) * (operators * perOperator + frames * VIEWS_PER_FRAME));

/** Host time of a launch under the profiler, ns. Null: too few launches to tell. */
export function launchTime({ nodes, works }: Plan): number | null {
  // Copies and fills are other calls and take other times.
  const isKernel = (n: number) =>
    nodes.workCount[n] === 1 && works.sort[nodes.firstWork[n]!] === WorkSort.compute;
  const calls = nodes.call.filter((_, n) => isKernel(n) && nodes.waitsFor[n]! < 0);
  return calls.length < ENOUGH_LAUNCHES ? null : quantile(calls, QUICK);
}

/** A plan with its step time without the profiler: what the price of a fix is compared with. */
export interface Baseline {
  readonly plan: Plan;
  readonly recording: RecordingCosts;
  /**
   * Step times of the replay: unchanged, and without the recording cost. Only a change of the plan is compared with these;
   * how long the rank's step takes is in its `StepTime`.
   */
  readonly replayed: Ns;
  readonly unprofiled: Ns;
  /** Without the highest and without the lowest recording cost. */
  readonly unprofiledLow: Ns;
  readonly unprofiledHigh: Ns;
  /** Host time of a step in which its batch is made or awaited: as recorded, and without the same costs. */
  readonly input: Readonly<Record<'recorded' | 'unprofiled' | 'low' | 'high', Ns>>;
  /** What the device does, with and without the recording cost: overlap changes when the host gets faster. */
  readonly busyRecorded: BusyTime;
  readonly busyUnprofiled: BusyTime;
  /** Replayed unchanged, the step comes within 5% of the recorded one. If not, no fix is priced. */
  readonly faithful: boolean;
}

const FAITHFUL = 0.05;
/** A larger part cannot be the profiler's: the steps differ for another reason. */
const MOST_FITTED = 0.85;

/** `unprofiled`: step time measured without the profiler, ns. Null: not measured. `byWorkers`: workers set its pace. */
export function baselineOf(
  original: Plan,
  recorded: number,
  unprofiled: number | null,
  byWorkers = original.pace > 0,
): Baseline {
  const asRecorded = replay(original, AS_RECORDED);
  const replayed = asRecorded.step;
  const estimated = recordingOf(original);
  const plan = unprofiled === null ? original : { ...original, pace: byWorkers ? unprofiled : 0 };
  // Where workers set the pace, how long a step takes says nothing about the cost of recording.
  const fitted = unprofiled === null || byWorkers ? null : fitCost(plan, unprofiled, estimated.likely);
  const recording = fitted ? { low: fitted, likely: fitted, high: fitted } : estimated;
  const usual = replaySteady(plan, recording.likely);
  const low = replaySteady(plan, recording.high);
  const high = replaySteady(plan, recording.low);
  return {
    plan,
    recording,
    replayed,
    unprofiled: usual.step,
    unprofiledLow: low.step,
    unprofiledHigh: high.step,
    input: {
      recorded: asRecorded.input,
      unprofiled: usual.input,
      low: low.input,
      high: high.input,
    },
    busyRecorded: busyTime(original, asRecorded),
    busyUnprofiled: busyTime(plan, usual),
    faithful: Math.abs(replayed / recorded - 1) <= FAITHFUL,
  };
}

/** The cost with which the plan takes as long as was measured. Bisection works: more cost never makes the step longer. */
function fitCost(plan: Plan, unprofiled: number, usual: RecordingCost): RecordingCost {
  let low = 0;
  let high = MOST_FITTED / usual.share;
  for (let i = 0; i < 20; i++) {
    const middle = (low + high) / 2;
    if (replaySteady(plan, scaled(usual, middle)).step > unprofiled) low = middle;
    else high = middle;
  }
  return scaled(usual, (low + high) / 2);
}

const scaled = (cost: RecordingCost, factor: number): RecordingCost => ({
  share: cost.share * factor,
  densePerEvent: cost.densePerEvent,
  perFrame: cost.perFrame * factor,
  perGraphKernel: cost.perGraphKernel * factor,
  perTritonLaunch: cost.perTritonLaunch * factor,
});

/** What the device does in a replay, without overlap, as in time accounting. Per step. */
interface BusyTime {
  readonly compute: Ns;
  readonly comms: Ns;
  readonly copy: Ns;
  /** Parts of `copy`. */
  readonly toDevice: Ns;
  readonly toHost: Ns;
}

export function busyTime(plan: Plan, { start, end, frontier }: Replayed): BusyTime {
  const { works, steps } = plan;
  const order = inOrderOfStart(start);
  const from = steps.includesFirst ? steps.begin : frontier[0]!;
  const to = frontier[steps.length - 1]!;
  const spansOf = (...sorts: readonly number[]): Spans => {
    const spans = new SpanUnion();
    for (const w of order) if (sorts.includes(works.sort[w]!)) spans.add(start[w]!, end[w]!);
    return clip(spans.finish(), from, to);
  };
  const compute = spansOf(WorkSort.compute);
  const comms = spansOf(WorkSort.comms);
  const covered = union(compute, comms);
  const perStep = (spans: Spans) => ns(lengthOf(spans) / countedSteps(steps));
  const exposed = (...sorts: readonly number[]) => perStep(subtract(spansOf(...sorts), covered));
  return {
    compute: perStep(compute),
    comms: perStep(subtract(comms, compute)),
    copy: exposed(WorkSort.toDevice, WorkSort.toHost, WorkSort.move),
    toDevice: exposed(WorkSort.toDevice),
    toHost: exposed(WorkSort.toHost),
  };
}

/** Work of a single stream starts in the plan's order: nothing to sort. */
function inOrderOfStart(start: Float64Array): Uint32Array {
  const order = new Uint32Array(start.length);
  let n = 0;
  let sorted = true;
  for (let w = 0; w < start.length; w++) {
    if (Number.isNaN(start[w]!)) continue;
    if (n > 0 && start[w]! < start[order[n - 1]!]!) sorted = false;
    order[n++] = w;
  }
  const present = order.subarray(0, n);
  return sorted ? present : present.sort((a, b) => start[a]! - start[b]!);
}
