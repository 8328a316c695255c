import { inBlocks } from '../../base/blocks.js';
import { partitionPoint } from '../../base/search.js';
import { largest, smallest } from '../../base/statistics.js';
import type { StepRange, StepSource } from '../../facts/step-facts.js';
import { Category } from '../../model/category.js';
import type { Trace } from '../../model/trace.js';
import { NO_ID } from '../../model/trace-data.js';
import { completeSteps } from './complete-steps.js';
import type { GpuWork } from './gpu-work.js';
import type { HostSpans } from './host-spans.js';
import { hostSteps, type StepSpan } from './host-steps.js';

/** One step: when the host issued it and when the device was done with it. */
export interface StepTime {
  readonly index: number;
  readonly hostStart: number;
  readonly hostEnd: number;
  /** The GPU frontier: when the last work that the step launched has ended. The host's end where it launched none. */
  readonly frontier: number;
  /** Pieces of GPU work it launched. */
  readonly works: number;
}

export interface StepTimes {
  readonly source: StepSource;
  /** Whole steps, in order. */
  readonly steps: readonly StepTime[];
  /** The last steps were not recorded whole, and are left out. */
  readonly cut: boolean;
  /** Where the first step begins: when the host began it, or when the device ended its earlier work. */
  readonly begin: number;
  /** `begin` is the frontier of the step before, so the first step is whole. */
  readonly followsStep: boolean;
  /** For each piece of GPU work, the index in `steps` of the step that launched it; −1: none. */
  readonly stepOf: Int32Array;
}

const NO_STEPS = { steps: [], cut: true, begin: 0, followsStep: false };

export function findStepTimes(
  trace: Trace,
  work: GpuWork,
  host: HostSpans,
  range: StepRange | null,
): StepTimes {
  const { source, spans: marked } = hostSteps(trace, work, host);
  const spans = trace.data.isCut ? completeSteps(trace, marked) : marked;
  if (spans.length === 0) return { ...NO_STEPS, source, stepOf: new Int32Array(work.length).fill(-1) };
  const launchedIn = attribute(trace, work, spans);
  const all = stepsOf(work, launchedIn, spans);
  const whole = all.slice(0, wholeSteps(all.map((s) => s.works)));
  const inRange = ({ index }: StepTime) =>
    index >= (range?.first ?? -Infinity) && index <= (range?.last ?? Infinity);
  const first = whole.findIndex(inRange);
  const steps = whole.filter(inRange);
  const end = first + steps.length;
  return {
    source,
    steps,
    cut: whole.length < all.length,
    begin: first > 0 ? whole[first - 1]!.frontier : beginOf(all[0]!, work, launchedIn),
    followsStep: first > 0,
    stepOf: launchedIn.map((s) => (s >= first && s < end ? s - first : -1)),
  };
}

function stepsOf(work: GpuWork, stepOf: Int32Array, spans: readonly StepSpan[]): StepTime[] {
  const ends = new Float64Array(spans.length).fill(Number.NEGATIVE_INFINITY);
  const works = new Uint32Array(spans.length);
  inBlocks(work.length, (from, to) => {
    for (let i = from; i < to; i++) {
      const s = stepOf[i]!;
      if (s < 0) continue;
      works[s]!++;
      if (work.end[i]! > ends[s]!) ends[s] = work.end[i]!;
    }
  });
  let frontier = Number.NEGATIVE_INFINITY;
  return spans.map((s, i) => {
    // A frontier is neither before an earlier one nor before the step began.
    frontier = Math.max(frontier, ends[i]!, works[i] === 0 ? s.endNs : s.startNs);
    return { index: s.index, hostStart: s.startNs, hostEnd: s.endNs, frontier, works: works[i]! };
  });
}

/** When the host began the first step, or when earlier work ended that the device had to do before. */
function beginOf(first: StepTime, work: GpuWork, stepOf: Int32Array): number {
  let begin = first.hostStart;
  for (let i = 0; i < work.length && stepOf[i]! < 1; i++) {
    if (stepOf[i]! < 0 && work.end[i]! < first.frontier) begin = Math.max(begin, work.end[i]!);
  }
  return begin;
}

/** The step of each piece of work, by the time of its launch. */
function attribute(trace: Trace, work: GpuWork, steps: readonly StepSpan[]): Int32Array {
  const { ts } = trace.data;
  const stepOf = new Int32Array(work.length).fill(-1);
  const unlaunched =
    trace.links.workWithoutLaunch < work.length ? () => Number.NaN : timesWithoutLaunches(trace, work);
  let s = 0;
  inBlocks(work.length, (from, to) => {
    for (let i = from; i < to; i++) {
      const launch = work.launchRow[i]!;
      const time = launch < 0 ? unlaunched(i) : ts[launch]!;
      if (Number.isNaN(time)) continue;
      // Mostly the same step as before. A search, because threads may launch for the first and the last step in turn.
      if (!(time >= steps[s]!.startNs && (s + 1 === steps.length || time < steps[s + 1]!.startNs)))
        s = Math.max(0, partitionPoint(steps.length, (k) => steps[k]!.startNs <= time) - 1);
      if (time >= steps[s]!.startNs && time <= steps[s]!.endNs) stepOf[i] = s;
    }
  });
  return stepOf;
}

/** For a trace without calls of CUDA: when the operator began that a piece of work is for, else when the work itself did. */
function timesWithoutLaunches({ data, index }: Trace, work: GpuWork): (i: number) => number {
  const { ts, external } = data;
  const began = new Map<number, number>();
  for (const row of index.ofKinds((k) => k.category === Category.cpuOp))
    if (external[row] !== NO_ID) began.set(external[row]!, ts[row]!);
  return (i) => began.get(external[work.row[i]!]!) ?? work.start[i]!;
}

/** The queue drains after the last step, but a step that lacks a fifth of the GPU work was cut (docs/method/steps.md). */
const WHOLE_STEP = 0.8;

/**
 * How many of the first steps are whole, by the pieces of GPU work of each. The end of a recording or of a file may cut one
 * step; where the host was steps ahead of the device, those after it have no GPU work at all. All are whole where the work
 * of steps varies as much anyway (ragged batches, gradient accumulation).
 */
export function wholeSteps(works: readonly number[]): number {
  const withWork = works.findLastIndex((n) => n > 0) + 1;
  const before = works.slice(0, Math.max(0, withWork - 1));
  // One step alone does not show that all have GPU work.
  if (before.length === 0) return withWork === 1 && works.length === 2 ? 1 : works.length;
  if (smallest(before) < largest(before) * WHOLE_STEP) return works.length;
  return works[withWork - 1]! < before.at(-1)! * WHOLE_STEP ? withWork - 1 : withWork;
}
