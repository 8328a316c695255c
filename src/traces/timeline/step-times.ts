import { inBlocks } from '../../base/blocks.js';
import { groupBy } from '../../base/group-by.js';
import { partitionPoint } from '../../base/search.js';
import { largest, smallest } from '../../base/statistics.js';
import type { StepRange, StepSource } from '../../facts/step-facts.js';
import { Category } from '../../model/category.js';
import { stepNumber } from '../../model/host-names.js';
import type { HostStep } from '../../model/steps.js';
import type { Trace } from '../../model/trace.js';
import { type KindInfo, NO_ID } from '../../model/trace-data.js';
import { completeSteps } from './complete-steps.js';
import type { GpuWork } from './gpu-work.js';
import { DATA_SPAN, type HostSpans, OPTIMIZER_SPAN } from './host-spans.js';
import { repeatedLaunches } from './repeated-launches.js';

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

type StepSpan = Pick<HostStep, 'index' | 'startNs' | 'endNs'>;

/** A step is what the job repeats. Marks of the profiler come first, then what people and engines name, then what repeats. */
function hostSteps(
  trace: Trace,
  work: GpuWork,
  host: HostSpans,
): { readonly source: StepSource; readonly spans: readonly StepSpan[] } {
  const marked = distinct(trace.steps);
  if (marked.length > 0) return { source: 'profiler', spans: marked };
  const optimizer = host.ofKind(OPTIMIZER_SPAN);
  if (optimizer.length >= 2) {
    const ends = optimizer.map((s) => s.end);
    return { source: 'optimizer', spans: between(ends, host.from) };
  }
  const annotated = annotatedSteps(trace);
  if (annotated.length > 0) return { source: 'annotation', spans: annotated };
  const data = host.ofKind(DATA_SPAN);
  if (data.length >= 2) {
    const starts = data.map((s) => s.start);
    return { source: 'dataloader', spans: between([...starts.slice(1), host.to], starts[0]!) };
  }
  const starts = repeatedLaunches(trace, work, host);
  if (starts.length > 0) return { source: 'launches', spans: between(starts.slice(1), starts[0]!) };
  return { source: 'window', spans: [{ index: 0, startNs: host.from, endNs: host.to }] };
}

function between(ends: readonly number[], from: number): StepSpan[] {
  return ends.map((endNs, index) => ({ index, startNs: index === 0 ? from : ends[index - 1]!, endNs }));
}

/** Several threads or windows may mark the same step: spans that repeat or overlap the one before are left out. */
function distinct(steps: readonly HostStep[]): HostStep[] {
  const kept: HostStep[] = [];
  for (const s of steps) {
    const last = kept.at(-1);
    if (last && (s.startNs < last.endNs - 1000 || s.index === last.index)) continue;
    kept.push(s);
  }
  return kept;
}

const isAnnotation = (k: KindInfo) => k.phase === 'X' && k.category === Category.annotation;

/**
 * Annotations that name a step: `iteration 12`, `train_step`, `step[DECODE bs=32]`, `execute_32_context_…`. One series counts:
 * the one on one thread, without overlap, that covers most time. A serving engine's names hold the sizes of each batch.
 */
function annotatedSteps(trace: Trace): StepSpan[] {
  const { ts, dur, track } = trace.data;
  const rows = trace.index.named(isAnnotation, (text) => text.length < 500 && stepNumber(text) !== null);
  const spans = Array.from(rows, (row) => {
    const { series, number } = stepNumber(trace.name(row))!;
    const start = ts[row]!;
    return { key: `${track[row]} ${series}`, number, startNs: start, endNs: start + Math.max(0, dur[row]!) };
  }).filter(({ startNs }) => !Number.isNaN(startNs));
  let best: readonly (typeof spans)[number][] = [];
  const timeOf = (list: typeof best) => list.reduce((sum, s) => sum + s.endNs - s.startNs, 0);
  for (const list of groupBy(spans, (s) => s.key).values()) {
    const inOrder = list.toSorted((a, b) => a.startNs - b.startNs);
    const overlaps = inOrder.some((s, i) => i > 0 && s.startNs < inOrder[i - 1]!.endNs);
    if (!overlaps && timeOf(inOrder) > timeOf(best)) best = inOrder;
  }
  const numbered = best.every((s, i) => i === 0 || s.number > best[i - 1]!.number);
  return best.map(({ number, startNs, endNs }, i) => ({
    index: numbered && !Number.isNaN(number) ? number : i,
    startNs,
    endNs,
  }));
}
