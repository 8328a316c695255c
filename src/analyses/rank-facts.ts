import { median } from '../base/statistics.js';
import { Category } from '../model/category.js';
import { kindMask, type Trace } from '../model/trace.js';
import type { DeviceInfo } from '../model/trace-data.js';
import { markEagerAttention } from './detail/eager-attention.js';
import { buildHostTree } from './detail/host-tree.js';
import { type OperatorTotal, totalOperators } from './detail/operators.js';
import { type GpuUnions, gpuUnions } from './gpu-unions.js';
import { classifyNames } from './kernels/classify.js';
import { buildKernelTable, type KernelTotal } from './kernels/kernel-table.js';
import { buildPlan } from './replay/build-plan.js';
import type { Plan } from './replay/plan.js';
import { accountParts, accountTime, type TimeByClass, totals } from './timeline/accounting.js';
import { orderGpuWork } from './timeline/gpu-work.js';
import { COMPILE_SPAN, DATA_SPAN, findHostSpans, type HostSpans } from './timeline/host-spans.js';
import { findStepTimes, type StepRange, type StepSource, type StepTime } from './timeline/step-times.js';

/** All that rules ask about one rank's trace. Plain data: it moves between threads. Times in ns unless said otherwise. */
export interface RankFacts {
  readonly device: DeviceInfo | null;
  readonly switches: readonly string[];
  readonly hasGpuWork: boolean;
  readonly hasHostEvents: boolean;
  readonly steps: StepFacts;
  /** A step's time by class, profiled; the classes add up to `steps.profiled`. */
  readonly time: TimeByClass;
  /** The same for each step of the window. */
  readonly timePerStep: readonly TimeByClass[];
  /** Exposed copies a step, by direction. */
  readonly copies: { readonly toDevice: number; readonly toHost: number };
  readonly gpu: GpuUnions | null;
  readonly input: InputFacts;
  /** Every kernel of the detail window, most time first; `plan.works.kernel` points into it. */
  readonly kernels: readonly KernelTotal[];
  readonly detail: DetailFacts | null;
}

export interface StepFacts {
  readonly source: StepSource;
  /** Steps the figures are over. */
  readonly count: number;
  readonly first: number;
  readonly last: number;
  readonly cut: boolean;
  /** Some steps take far longer than others: figures are means, and the first step counts too. */
  readonly irregular: boolean;
  /** Profiled mean. */
  readonly profiled: number;
  readonly periods: readonly number[];
  readonly indices: readonly number[];
}

export interface InputFacts {
  /** Requests for a batch, by kind of loader. */
  readonly inMain: number;
  readonly inWorkers: number;
  /** Host time waiting for batches, each step of the window (hidden behind the GPU or not). */
  readonly waitPerStep: readonly number[];
  readonly longest: { readonly row: number; readonly ts: number; readonly dur: number } | null;
  /** Ends of epochs: an exhausted loader is started again. */
  readonly restarts: readonly { readonly ts: number; readonly dur: number }[];
  readonly name: string | null;
  /** Compiling, tuning and loading code, a step. */
  readonly compile: { readonly ns: number; readonly count: number; readonly name: string | null };
}

/** A few consecutive steps in full: enough to play them again, few enough for any size of trace. */
export interface DetailFacts {
  readonly plan: Plan | null;
  readonly steps: number;
  readonly operators: readonly OperatorTotal[];
  /** Recorded in the detail window: operators, runtime and driver calls; Python frames; kernels of CUDA graphs. */
  readonly events: number;
  readonly frames: number;
  /** Collectives on the device a step, and how many of them move a few numbers only. */
  readonly collectives: { readonly count: number; readonly scalar: number };
  /** Longest times without any recorded call on the main thread, input waits left out. */
  readonly silences: readonly { readonly ts: number; readonly dur: number; readonly step: number }[];
}

/** Pieces of GPU work looked at in detail: steps are taken from the first on until there are so many. */
const DETAIL_WORKS = 40_000;
const IRREGULAR = 1.5;

export interface AnalyseOptions {
  readonly steps: StepRange | null;
}

/** Null when the trace has neither host events nor GPU work in it, or the steps asked for are not in it. */
export function analyseRank(trace: Trace, options: AnalyseOptions): RankFacts | null {
  const work = orderGpuWork(trace);
  const host = findHostSpans(trace, work);
  if (host.main < 0 && work.length === 0) return null;
  const kinds = classifyNames(trace);
  const times = findStepTimes(trace, work, host, options.steps);
  if (times.steps.length === 0) return null;
  const window = windowOf(times.steps, times.begin, times.source);
  const accounting = accountTime(trace, work, kinds, host, window.from, window.to);
  const perStep = (ns: number) => ns / window.count;
  const detailSteps = detailRange(times.steps);
  const inDetail = times.steps.slice(0, detailSteps);
  const kernels = buildKernelTable(trace, work, kinds, times.stepOf, detailSteps);
  const tree = buildHostTree(trace, host.threads, inDetail[0]!.hostStart, inDetail.at(-1)!.hostEnd);
  const frames = framesOf(trace, host, inDetail);
  const plan = buildPlan({
    ...{ trace, kinds, work, stepOf: times.stepOf, host, tree, frames, steps: inDetail, firstStep: 0 },
    kernelOf: kernels.placeOf,
    wholeFirst: window.irregular,
  });
  if (plan) markEagerAttention(plan);
  return {
    device: deviceOf(trace),
    switches: trace.data.header.switches,
    hasGpuWork: work.length > 0,
    hasHostEvents: tree.length > 0,
    steps: {
      ...{ source: times.source, count: window.count, cut: times.cut, irregular: window.irregular },
      ...{ first: window.steps[0]!.index, last: window.steps.at(-1)!.index },
      profiled: perStep(window.to - window.from),
      periods: window.bounds.slice(1).map((end, i) => end - window.bounds[i]!),
      indices: window.steps.map((s) => s.index),
    },
    time: totals((c) => perStep(accounting.total[c])),
    timePerStep: accountParts(accounting, window.bounds),
    copies: { toDevice: perStep(accounting.copies.toDevice), toHost: perStep(accounting.copies.toHost) },
    gpu: gpuUnions(trace, work, kinds),
    input: inputFacts(trace, host, window),
    kernels: kernels.list,
    detail:
      tree.length === 0
        ? null
        : {
            ...{ plan, steps: detailSteps, operators: totalOperators(trace, tree), frames: frames.length },
            collectives: countCollectives(trace, kinds, plan),
            events: tree.counted.reduce((n, c) => n + c, 0),
            silences: findSilences(host, inDetail, tree),
          },
  };
}

interface StepWindow {
  readonly from: number;
  readonly to: number;
  readonly irregular: boolean;
  readonly count: number;
  /** The steps that count, and the times that divide them: one more. */
  readonly steps: readonly StepTime[];
  readonly bounds: readonly number[];
}

/**
 * From the first frontier to the last: then every step is whole on the device. Where steps differ much (a slow batch
 * every few) or there is only one, the first is needed too, from where it began.
 */
function windowOf(steps: readonly StepTime[], begin: number, source: StepSource): StepWindow {
  const frontiers = steps.map((s) => s.frontier);
  const periods = frontiers.map((f, i) => f - (i === 0 ? begin : frontiers[i - 1]!));
  const irregular =
    steps.length === 1 || source === 'window' || Math.max(...periods) > IRREGULAR * median(periods);
  const counted = irregular ? steps : steps.slice(1);
  const bounds = irregular ? [begin, ...frontiers] : frontiers;
  return { from: bounds[0]!, to: bounds.at(-1)!, irregular, count: counted.length, steps: counted, bounds };
}

/** How many steps, from the first on, hold no more than `DETAIL_WORKS`; at least two. */
function detailRange(steps: readonly StepTime[]): number {
  let works = 0;
  for (let i = 0; i < steps.length; i++) {
    works += steps[i]!.works;
    if (works > DETAIL_WORKS && i >= 2) return i;
  }
  return steps.length;
}

function deviceOf(trace: Trace): DeviceInfo | null {
  const { devices } = trace.data.header;
  const used = trace.data.gpu.device.find((d) => d !== 255);
  return devices.find((d) => d.id === used) ?? devices[0] ?? null;
}

function framesOf(trace: Trace, host: HostSpans, steps: readonly StepTime[]): Float64Array {
  const { data } = trace;
  const isFrame = kindMask(data, (c) => c === Category.pythonFunction);
  if (!isFrame.includes(1)) return new Float64Array(0);
  const [from, to] = [steps[0]!.hostStart, steps.at(-1)!.hostEnd];
  const starts: number[] = [];
  for (let row = 0; row < data.rows; row++) {
    if (isFrame[data.kind[row]!] === 0 || !host.threads.includes(data.track[row]!)) continue;
    if (data.ts[row]! >= from && data.ts[row]! < to) starts.push(data.ts[row]!);
  }
  return Float64Array.from(starts);
}

function inputFacts(trace: Trace, host: HostSpans, window: StepWindow): InputFacts {
  const requests = host.ofKind(DATA_SPAN);
  const longest = requests.reduce((a, b) => (a && a.end - a.start >= b.end - b.start ? a : b), requests[0]);
  const waitPerStep = window.steps.map((s) =>
    requests.reduce(
      (ns, r) => ns + Math.max(0, Math.min(r.end, s.hostEnd) - Math.max(r.start, s.hostStart)),
      0,
    ),
  );
  const inside = (ts: number) => ts >= window.steps[0]!.hostStart && ts <= window.steps.at(-1)!.hostEnd;
  const compiles = host.ofKind(COMPILE_SPAN).filter((s) => inside(s.start));
  return {
    inMain: host.loaders.inMain,
    inWorkers: host.loaders.inWorkers,
    waitPerStep,
    longest: longest ? { row: longest.row, ts: longest.start, dur: longest.end - longest.start } : null,
    restarts: host.restarts
      .filter((r) => inside(r.start))
      .map((r) => ({ ts: r.start, dur: r.end - r.start })),
    name: longest ? trace.name(longest.row) : null,
    compile: {
      ns: compiles.reduce((n, s) => n + s.end - s.start, 0) / window.count,
      count: compiles.length,
      name: compiles[0] ? trace.name(compiles[0].row) : null,
    },
  };
}

/** A few numbers: losses, norms, counts. */
const SCALAR_ELEMENTS = 64;

function countCollectives(trace: Trace, kinds: ReturnType<typeof classifyNames>, plan: Plan | null) {
  if (!plan) return { count: 0, scalar: 0 };
  const { row, inElements } = trace.data.collectives;
  const elements = new Map<number, number>();
  for (let i = 0; i < row.length; i++) elements.set(row[i]!, inElements[i]!);
  let count = 0;
  let scalar = 0;
  for (const r of plan.works.row) {
    if (kinds[trace.data.name[r]!]?.class !== 'comms') continue;
    count++;
    // Kernels without arguments (NaN) never pass.
    if ((elements.get(r) ?? Number.NaN) <= SCALAR_ELEMENTS) scalar++;
  }
  return { count: count / plan.steps.length, scalar: scalar / plan.steps.length };
}

/** Shorter ones are ordinary Python between operators. */
const SILENCE_NS = 1_000_000;
const KEPT_SILENCES = 20;

function findSilences(
  host: HostSpans,
  steps: readonly StepTime[],
  tree: { length: number; row: Uint32Array; start: Float64Array; end: Float64Array; counted: Uint8Array },
) {
  const calls: [start: number, end: number][] = [];
  for (let i = 0; i < tree.length; i++) {
    // Operators of any training thread count: while backward runs on its own thread the main one only waits.
    if (tree.counted[i] === 1) calls.push([tree.start[i]!, tree.end[i]!]);
  }
  for (const s of host.ofKind(DATA_SPAN)) calls.push([s.start, s.end]);
  for (const r of host.restarts) calls.push([r.start, r.end]);
  calls.sort((a, b) => a[0] - b[0]);
  const silences: { ts: number; dur: number; step: number }[] = [];
  let now = steps[0]!.hostStart;
  let step = 0;
  for (const [start, end] of calls) {
    while (step + 1 < steps.length && start >= steps[step + 1]!.hostStart) step++;
    if (start - now >= SILENCE_NS) silences.push({ ts: now, dur: start - now, step: steps[step]!.index });
    now = Math.max(now, end);
  }
  return silences.sort((a, b) => b.dur - a.dur).slice(0, KEPT_SILENCES);
}
