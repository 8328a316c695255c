import { largest, smallest } from '../../base/statistics.js';
import type { StepRange, StepSource } from '../../facts/step-facts.js';
import type { HostStep } from '../../model/steps.js';
import type { Trace } from '../../model/trace.js';
import type { GpuWork } from './gpu-work.js';
import { DATA_SPAN, type HostSpans, OPTIMIZER_SPAN } from './host-spans.js';

/** One step: when the host issued it and when the device was done with it. */
export interface StepTime {
  readonly index: number;
  readonly hostStart: number;
  readonly hostEnd: number;
  /** The GPU frontier: the end of the last work that this step launched; the host's end where it launched none. */
  readonly frontier: number;
  /** Pieces of GPU work it launched. */
  readonly works: number;
}

export interface StepTimes {
  readonly source: StepSource;
  /** Whole steps, in order. */
  readonly steps: readonly StepTime[];
  /** Where the first step begins: at the end of the device's earlier work, or when the host began it. */
  readonly begin: number;
  /** `begin` is the frontier of a step before the first: then the first one is whole. */
  readonly afterAnother: boolean;
  /** The last step was cut by the end of the recording and left out. */
  readonly cut: boolean;
  /** For each piece of GPU work the place in `steps` of the step that launched it; −1: none. */
  readonly stepOf: Int32Array;
}

/** A step with a fifth of the work missing was cut (method 6). */
const WHOLE_STEP = 0.8;

export function findStepTimes(
  trace: Trace,
  work: GpuWork,
  host: HostSpans,
  range: StepRange | null,
): StepTimes {
  const { source, spans } = hostSteps(trace, host);
  const stepOf = attribute(trace, work, spans);
  const frontier = spans.map((s) => (work.length === 0 ? s.endNs : Number.NEGATIVE_INFINITY));
  const works = new Uint32Array(spans.length);
  for (let i = 0; i < work.length; i++) {
    const s = stepOf[i]!;
    if (s < 0) continue;
    works[s]!++;
    if (work.end[i]! > frontier[s]!) frontier[s] = work.end[i]!;
  }
  let steps = spans.map(
    (s, i): StepTime => ({
      index: s.index,
      hostStart: s.startNs,
      hostEnd: s.endNs,
      // A frontier cannot lie before an earlier one, nor before the step began.
      frontier: Math.max(frontier[i]!, works[i] === 0 ? s.endNs : s.startNs),
      works: works[i]!,
    }),
  );
  for (let i = 1; i < steps.length; i++) {
    if (steps[i]!.frontier < steps[i - 1]!.frontier)
      steps[i] = { ...steps[i]!, frontier: steps[i - 1]!.frontier };
  }
  let begin = steps[0]!.hostStart;
  for (let i = 0; i < work.length && stepOf[i]! < 1; i++) {
    if (stepOf[i]! < 0 && work.end[i]! < steps[0]!.frontier) begin = Math.max(begin, work.end[i]!);
  }
  const n = steps.length;
  const cut =
    n >= 2 &&
    steps[n - 2]!.works > 0 &&
    steps[n - 1]!.works < steps[n - 2]!.works * WHOLE_STEP &&
    !varies(steps);
  if (cut) steps = steps.slice(0, -1);
  if (range) {
    const wanted = (s: StepTime) =>
      s.index >= (range.first ?? -Infinity) && s.index <= (range.last ?? Infinity);
    const from = steps.findIndex(wanted);
    if (from > 0) begin = steps[from - 1]!.frontier;
    steps = steps.filter(wanted);
    return {
      source,
      steps,
      begin,
      afterAnother: from > 0,
      cut,
      stepOf: stepOf.map((s) => (s < from || s >= from + steps.length ? -1 : s - from)),
    };
  }
  return {
    source,
    steps,
    begin,
    afterAnother: false,
    cut,
    stepOf: cut ? stepOf.map((s) => (s === n - 1 ? -1 : s)) : stepOf,
  };
}

/** Work per step differs anyway (ragged batches, accumulation): then a small last step says nothing. */
function varies(steps: readonly StepTime[]): boolean {
  const before = steps.slice(0, -1).map((s) => s.works);
  return smallest(before) < largest(before) * WHOLE_STEP;
}

type Span = Pick<HostStep, 'index' | 'startNs' | 'endNs'>;

function hostSteps(trace: Trace, host: HostSpans): { source: StepSource; spans: readonly Span[] } {
  const marked = distinct(trace.steps);
  if (marked.length > 0) return { source: 'profiler', spans: marked };
  const optimizer = host.ofKind(OPTIMIZER_SPAN);
  if (optimizer.length >= 2)
    return {
      source: 'optimizer',
      spans: between(
        optimizer.map((s) => s.end),
        host.from,
      ),
    };
  const data = host.ofKind(DATA_SPAN);
  if (data.length >= 2) {
    const starts = data.map((s) => s.start);
    return { source: 'dataloader', spans: between([...starts.slice(1), host.to], starts[0]!) };
  }
  return { source: 'window', spans: [{ index: 0, startNs: host.from, endNs: host.to }] };
}

function between(ends: readonly number[], from: number): Span[] {
  return ends.map((endNs, index) => ({ index, startNs: index === 0 ? from : ends[index - 1]!, endNs }));
}

/** Several threads or windows may mark the same step; spans that overlap the one before are left out. */
function distinct(steps: readonly HostStep[]): HostStep[] {
  const kept: HostStep[] = [];
  for (const s of steps) {
    const last = kept.at(-1);
    if (last && (s.startNs < last.endNs - 1000 || s.index === last.index)) continue;
    kept.push(s);
  }
  return kept;
}

/** By the time of the launch; work without a recorded launch, by its own start when no launches are recorded at all. */
function attribute(trace: Trace, work: GpuWork, steps: readonly Span[]): Int32Array {
  const { ts } = trace.data;
  const stepOf = new Int32Array(work.length).fill(-1);
  if (steps.length === 0) return stepOf;
  const byLaunch = trace.links.workWithoutLaunch < work.length;
  let s = 0;
  for (let i = 0; i < work.length; i++) {
    const launch = work.launchRow[i]!;
    if (launch < 0 && byLaunch) continue;
    const at = launch < 0 ? work.start[i]! : ts[launch]!;
    while (s > 0 && at < steps[s]!.startNs) s--;
    while (s + 1 < steps.length && at >= steps[s + 1]!.startNs) s++;
    if (at >= steps[s]!.startNs && at <= steps[s]!.endNs) stepOf[i] = s;
  }
  return stepOf;
}
