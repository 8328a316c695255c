import { clip, lengthOf, NO_SPANS, type Spans } from '../base/intervals.js';
import { largest } from '../base/statistics.js';
import { ns, share } from '../base/units.js';
import { cutTimeline } from '../facts/rank-timeline.js';
import type { StepFacts, StepRange, StepSource } from '../facts/step-facts.js';
import { totals, WorkSort } from '../facts/time-class.js';
import { Category } from '../model/category.js';
import type { Trace } from '../model/trace.js';
import type { DeviceInfo } from '../model/trace-data.js';
import { acceleratorOf } from './accelerator.js';
import { extractCollectives } from './collectives/extract.js';
import { deviceCounters } from './detail/device-counters.js';
import { hardwareUse } from './detail/hardware-use.js';
import { buildHostTree, recomputedTime, viewTime } from './detail/host-tree.js';
import { inputFacts } from './detail/input-facts.js';
import { buildKernelTable } from './detail/kernel-table.js';
import { loaderQueue, workerPace } from './detail/loader-queue.js';
import { totalOperators } from './detail/operators.js';
import { findPauses, NO_PAUSES, operatorSpans } from './detail/pauses.js';
import { classifyNames } from './kernels/classify.js';
import type { KernelKinds } from './kernels/kernel-kind.js';
import { buildPlan } from './plan/build-plan.js';
import { markEagerAttention } from './plan/eager-attention.js';
import { programOf } from './program.js';
import { accountHostTime, accountParts, accountTime } from './timeline/accounting.js';
import { gpuUnions } from './timeline/gpu-unions.js';
import { type GpuWork, orderGpuWork, workBetween } from './timeline/gpu-work.js';
import {
  COLLECTIVE_SPAN,
  findHostSpans,
  type HostSpans,
  hasOperators,
  withInferredInput,
} from './timeline/host-spans.js';
import { firstWaitedAlone, inferInputWaits } from './timeline/inferred-input.js';
import { findOneOff, findOtherWork } from './timeline/one-off.js';
import { osCalls } from './timeline/os-calls.js';
import {
  beginOf,
  coldSteps,
  NOT_COLD,
  recurring,
  SIZEABLE,
  type StartUp,
  startUpSpans,
  whileIdle,
} from './timeline/start-up.js';
import { findStepTimes, type StepTime, type StepTimes } from './timeline/step-times.js';
import {
  detailRange,
  firstDidMore,
  firstIsLonger,
  representative,
  type StepWindow,
  windowOf,
} from './timeline/step-window.js';
import { workSorts } from './timeline/work-sorts.js';
import type { AnalyzeOptions, TraceFacts } from './trace-facts.js';

/** How many kernels and operators light facts keep. */
const LIGHT_ROWS = 40;

/** Only what is needed to compare ranks and to give a verdict: small enough for hundreds of ranks. */
export function lighten(facts: TraceFacts): TraceFacts {
  const { detail } = facts;
  return {
    ...facts,
    kernels: facts.kernels.slice(0, LIGHT_ROWS),
    detail: detail && {
      ...detail,
      plan: null,
      operators: detail.operators.slice(0, LIGHT_ROWS),
      hardware: null,
    },
    light: true,
  };
}

/** Null when the trace has neither host events nor GPU work, or none of the wanted steps. */
export function analyzeTrace(trace: Trace, options: AnalyzeOptions): TraceFacts | null {
  const all = factsOf(trace, options.steps);
  const facts = all && (withoutOneOff(trace, all, options.steps) ?? { ...all, oneOff: null });
  return facts && options.light ? lighten(facts) : facts;
}

/**
 * A step that stands out once is reported separately; all figures are over the steps without it. Null: none does, ranks are to be
 * compared step by step, or these steps were asked for.
 */
function withoutOneOff(trace: Trace, { oneOff, collectives }: TraceFacts, range: StepRange | null) {
  if (!oneOff || collectives || range) return null;
  const rest = factsOf(trace, oneOff.without);
  return rest && { ...rest, oneOff };
}

function factsOf(trace: Trace, range: StepRange | null): TraceFacts | null {
  const accelerator = acceleratorOf(trace);
  // Its calls alone do not show what a GPU program does.
  if (accelerator.byNsys && accelerator.kernels === 0) return null;
  const work = orderGpuWork(trace);
  const hostSpans = findHostSpans(trace, work);
  if (hostSpans.main < 0 && work.length === 0) return null;
  const kinds = classifyNames(trace);
  const { whole, recorded, once } = withoutLeadIn(trace, work, hostSpans, range);
  if (whole.steps.length === 0) return null;
  const comparesRanks = communicates(trace, work, kinds, recorded);
  const cold = range === null && !comparesRanks ? coldSteps(whole, once, recorded.waits.data) : NOT_COLD;
  // The first step does not count, but would be half of what is looked at in detail.
  const skipped =
    cold.startUp === 0 && range === null && !comparesRanks && firstDidMore(whole.steps) ? 1 : cold.startUp;
  const all =
    skipped > 0
      ? findStepTimes(trace, work, recorded, { first: whole.steps[skipped]!.index, last: null })
      : whole;
  const times = { ...all, steps: all.steps.slice(0, representative(all.steps)) };
  const inferred = inferInputWaits(trace, work, kinds, recorded, times);
  const host = withInferredInput(recorded, inferred);
  const window = windowOf(times.steps, times.begin, times.source, {
    followsStep: times.followsStep && !cold.thenWarmsUp,
    waitedAlone: firstWaitedAlone(host, times),
    isOfRanks: comparesRanks,
  });
  const perStep = (time: number) => ns(time / window.steps.length);
  const detailSteps = detailRange(times.steps, all.steps.length);
  const inDetail = times.steps.slice(0, detailSteps);
  const kernels = buildKernelTable(trace, work, kinds, times.stepOf, detailSteps);
  const tree = buildHostTree(trace, host.threads, inDetail[0]!.hostStart, inDetail.at(-1)!.hostEnd);
  const operators = operatorSpans(tree);
  const accounting =
    work.length > 0
      ? accountTime(trace, workBetween(work, window.from, window.to), kinds, host, window.from, window.to)
      : accountHostTime(operators, host, window.from, window.to);
  const timePerStep = accountParts(accounting, window.bounds);
  // In a cut file, what the thread did that pins batches may be missing.
  const queue = trace.data.isCut ? null : loaderQueue(trace, work, kinds, host, times.steps);
  const frames = framesOf(trace, host, inDetail);
  const plan = buildPlan({
    trace,
    kinds,
    work,
    stepOf: times.stepOf,
    host,
    tree,
    frames,
    steps: inDetail,
    kernelOf: kernels.indexOf,
    includesFirst: window.includesFirst,
    begin: times.begin,
    pace: workerPace(
      host,
      queue,
      window,
      window.includesFirst ? detailSteps : detailSteps - 1,
      accounting.total.idle_data,
    ),
  });
  if (plan) markEagerAttention(plan, kernels.list);
  const collectives = comparesRanks
    ? extractCollectives(trace, work, kinds, all, { blocking: recorded.waits.comms })
    : null;
  return {
    source: 'trace',
    phases: null,
    light: false,
    device: deviceOf(trace),
    accelerator,
    switches: trace.data.header.switches,
    unprofiledShare: unprofiledShare(trace),
    hasGpuWork: work.length > 0,
    hasHostEvents: tree.length > 0,
    program: programOf(trace),
    steps: stepFacts(times.source, window, all.steps.length),
    time: totals((c) => perStep(accounting.total[c])),
    timePerStep,
    oneOff: findOneOff(window, timePerStep) ?? findOtherWork(trace, work, recorded, times, window),
    startUp: startUpFacts(once, cold.startUp, window, whole),
    copies: { toDevice: perStep(accounting.copies.toDevice), toHost: perStep(accounting.copies.toHost) },
    gpu: gpuUnions(trace, work, kinds),
    counters: deviceCounters(trace, work, kinds, window),
    collectives,
    timeline:
      collectives &&
      cutTimeline({
        spans: accounting.spans,
        stepFrom: window.bounds.slice(0, -1),
        stepTo: window.bounds.slice(1),
        arrivals: collectives.start,
      }),
    input: inputFacts(trace, host, inferred, window.steps, queue),
    kernels: kernels.list,
    detail:
      tree.length === 0
        ? null
        : {
            plan,
            steps: detailSteps,
            operators: totalOperators(trace, tree),
            events: tree.counted.reduce((n, c) => n + c, 0),
            frames: frames.length,
            pauses: !seesHost(trace, host, work)
              ? NO_PAUSES
              : findPauses(host, inDetail, operators, osCalls(trace, host.threads)),
            recomputed: recomputedTime(tree),
            viewTime: viewTime(trace, tree),
            hardware: hardwareUse({
              trace,
              work,
              kinds,
              tree,
              stepOf: times.stepOf,
              lastStep: detailSteps,
            }),
          },
  };
}

/**
 * The steps, and what the job does once. A recording without steps is looked at from where it shows the job: without its start-up
 * and what comes before the first launch.
 */
function withoutLeadIn(trace: Trace, work: GpuWork, host: HostSpans, range: StepRange | null) {
  const whole = findStepTimes(trace, work, host, range);
  const usual = whole.source === 'profiler' && !firstIsLonger(whole);
  if (usual || range !== null) return { whole, recorded: host, once: NO_SPANS };
  // What comes after all GPU work takes the job down: freeing memory, destroying communicators.
  const last = work.length === 0 ? Number.POSITIVE_INFINITY : largest(work.end);
  const once = clip(whileIdle(startUpSpans(trace, host), work), Number.NEGATIVE_INFINITY, last);
  if (whole.source !== 'window') return { whole, recorded: host, once };
  const { ts } = trace.data;
  const launches = Float64Array.from(
    work.launchRow.filter((row) => row >= 0),
    (row) => ts[row]!,
  ).sort();
  const recorded = { ...host, from: beginOf(work, launches, once, host.from) };
  return { whole: findStepTimes(trace, work, recorded, range), recorded, once };
}

/** Null: nothing that the job does once was recorded, or it hardly matters. */
function startUpFacts(once: Spans, steps: number, window: StepWindow, all: StepTimes): StartUp | null {
  const { from, to } = window;
  const inSteps = lengthOf(clip(once, from, to));
  const again = Math.min(inSteps, recurring(once, all) * window.steps.length);
  const time = lengthOf(once) - again;
  const left = (inSteps - again) / Math.max(1, to - from);
  return steps > 0 || time >= SIZEABLE * (to - from) ? { time: ns(time), steps, left: share(left) } : null;
}

/**
 * Without CUDA calls, waiting for the device looks like a pause. Without operators and calls of the operating system, everything
 * that PyTorch does looks like one.
 */
const seesHost = (trace: Trace, host: HostSpans, work: GpuWork): boolean =>
  (osCalls(trace, host.threads).length > 0 || hasOperators(trace)) &&
  (work.length === 0 || trace.links.workWithoutLaunch < trace.links.work.length);

function stepFacts(source: StepSource, { steps, bounds, irregular }: StepWindow, total: number): StepFacts {
  const periods = steps.map((_, i) => ns(bounds[i + 1]! - bounds[i]!));
  return {
    source,
    total,
    count: steps.length,
    irregular,
    first: steps[0]!.index,
    last: steps.at(-1)!.index,
    recorded: ns((bounds.at(-1)! - bounds[0]!) / steps.length),
    periods,
    indices: steps.map((s) => s.index),
  };
}

/** Whether there is communication to extract, which takes a pass over all calls. */
function communicates(trace: Trace, work: GpuWork, kinds: KernelKinds, host: HostSpans): boolean {
  if (trace.data.collectives.row.length > 0 || host.ofKind(COLLECTIVE_SPAN).length > 0) return true;
  const sorts = workSorts(kinds);
  return work.row.some((row) => sorts[trace.data.name[row]!] === WorkSort.comms);
}

const unprofiledShare = ({ data }: Trace) => {
  const known = data.header.slimmed?.unprofiled ?? null;
  return known === null ? null : share(known);
};

function deviceOf(trace: Trace): DeviceInfo | null {
  const { devices } = trace.data.header;
  const used = trace.data.gpu.device.find((d) => d !== 255);
  return devices.find((d) => d.id === used) ?? devices[0] ?? null;
}

/** Starts of recorded Python frames on the training threads. */
function framesOf(trace: Trace, host: HostSpans, steps: readonly StepTime[]): Float64Array {
  const { ts, track } = trace.data;
  const [from, to] = [steps[0]!.hostStart, steps.at(-1)!.hostEnd];
  const rows = trace.index.ofKinds((k) => k.category === Category.pythonFunction);
  const inDetail = rows.filter(
    (row) => ts[row]! >= from && ts[row]! < to && host.threads.includes(track[row]!),
  );
  return Float64Array.from(inDetail, (row) => ts[row]!);
}
