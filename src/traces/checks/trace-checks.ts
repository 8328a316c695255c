import { inBlocks } from '../../base/blocks.js';
import { type CheckResult, found } from '../../base/check.js';
import { partitionPoint } from '../../base/search.js';
import { formatCount, formatWholePercent, share } from '../../base/units.js';
import {
  type Accelerator,
  deviceName,
  insteadOfUnread,
  markSteps,
  NO_KERNELS,
  RECORD_KERNELS,
  recordBoth,
} from '../../facts/accelerator.js';
import { Category, isGpuWork } from '../../model/category.js';
import { COMPILES, OPTIMIZER_STEP, WAITS_FOR_DATA } from '../../model/host-names.js';
import { sortByTime } from '../../model/time-order.js';
import { kindMask, type Trace } from '../../model/trace.js';
import type { KindInfo, TraceData } from '../../model/trace-data.js';
import { acceleratorOf } from '../accelerator.js';
import { programOf, recordedOf } from '../program.js';
import { completeSteps } from '../timeline/complete-steps.js';
import { wholeSteps } from '../timeline/step-times.js';
import type { TraceFacts } from '../trace-facts.js';

/** In the order of the report. Each check is pure and returns nothing when all is well. */
const TRACE_CHECKS: readonly ((trace: Trace) => readonly CheckResult[])[] = [
  noKernels,
  unreadDevice,
  noGpuWork,
  noSteps,
  shortWindow,
  cutLastStep,
  lostCalls,
  orphanedGpuWork,
  droppedGpuWork,
  compileInWindow,
  stacksOn,
  slowSwitches,
  slimmed,
  overlappingSpans,
  oddDurations,
];

/** A recording of Nsight Systems in which the program never computes on the GPU, or CUDA was not traced. */
function noKernels(trace: Trace): readonly CheckResult[] {
  const { byNsys, kernels } = acceleratorOf(trace);
  if (!byNsys || kernels > 0 || trace.data.rows === 0) return [];
  const calls = callsOf(trace);
  const message = `Nsight Systems recorded ${formatCount(calls, 'CUDA call')} and no kernels`;
  return found('severe', NO_KERNELS, 1, message, `nothing can be judged; ${RECORD_KERNELS}`);
}
const callsOf = ({ data }: Trace): number =>
  data.kinds.reduce((n, k) => n + (k.category === Category.runtime ? k.events : 0), 0);

/** The device's events are there, in a layout of its own. */
function unreadDevice(trace: Trace): readonly CheckResult[] {
  const { kind, unread } = acceleratorOf(trace);
  const message = `device events not understood: whyslow does not read those of ${deviceName(kind)}`;
  const consequence = `the device’s time is unknown; ${insteadOfUnread(kind)}`;
  return unread === 0 ? [] : found('warning', 'unread-device', unread, message, consequence);
}

function noGpuWork(trace: Trace): readonly CheckResult[] {
  const { links, data } = trace;
  if (links.work.length > 0 || data.rows === 0) return [];
  const { kind, byNsys, unread } = acceleratorOf(trace);
  if (byNsys || unread > 0) return [];
  const { launches } = links;
  const consequence = `the GPU’s time is unknown; if the job uses one, ${recordBoth(kind)}`;
  if (launches > 0) {
    const message = `${launches} launches but no GPU work: the profiler recorded no device activity`;
    return found('severe', 'no-gpu-work', 1, message, consequence);
  }
  // The profiler lists the GPUs of the machine whether it records them or not. A job without any is no fault.
  const { devices, versions } = data.header;
  const severity = devices.length + Object.keys(versions).length > 0 ? 'warning' : 'note';
  return found(severity, 'no-gpu-work', 1, 'no GPU work in the trace', consequence);
}

function noSteps(trace: Trace): readonly CheckResult[] {
  if (trace.steps.length > 0 || trace.data.rows === 0) return [];
  const marks = hostCalls(trace, OPTIMIZER_STEP) >= 2 || hostCalls(trace, WAITS_FOR_DATA) >= 2;
  return unmarkedSteps({ accelerator: acceleratorOf(trace), program: programOf(trace) }, marks);
}

function unmarkedSteps(
  { accelerator, program }: Pick<TraceFacts, 'accelerator' | 'program'>,
  areFound: boolean,
): readonly CheckResult[] {
  const unmarked = accelerator.byNsys ? 'no NVTX ranges mark steps' : 'no ProfilerStep spans';
  const [message, consequence] = areFound
    ? ['steps are found by what the job repeats', 'less exact']
    : ['the window is not divided into steps', 'figures are for the whole window'];
  const marking = markSteps(recordedOf(accelerator, program));
  return found('warning', NO_STEPS, 1, `${unmarked}: ${message}`, `${consequence}; ${marking}`);
}
const NO_STEPS = 'no-steps';

/** The analysis may find steps that nothing marks. */
export const withFoundSteps = (
  checks: readonly CheckResult[],
  facts: Pick<TraceFacts, 'steps' | 'accelerator' | 'program'>,
): readonly CheckResult[] =>
  facts.steps.source === 'window'
    ? checks
    : checks.flatMap((check) => (check.code === NO_STEPS ? unmarkedSteps(facts, true) : [check]));

const hostCalls = (trace: Trace, name: RegExp): number =>
  trace.index.named(
    (k) => k.phase === 'X' && !isGpuWork(k.category),
    (text) => name.test(text),
  ).length;

function shortWindow(trace: Trace): readonly CheckResult[] {
  if (trace.steps.length !== 1) return [];
  const consequence = 'where it begins and ends on the GPU is uncertain; record two or more';
  return found('warning', 'short-window', 1, 'only one step was recorded', consequence);
}

function cutLastStep(trace: Trace): readonly CheckResult[] {
  const { steps } = trace;
  if (trace.data.isCut) return [];
  const works = worksOf(trace);
  const whole = wholeSteps(works);
  const [cut, last] = [steps[whole], steps.at(-1)!];
  if (!cut) return [];
  const part = formatWholePercent(share(works[whole]! / works[whole - 1]!));
  const first = { unit: 'row', at: cut.row } as const;
  const [message, consequence] =
    cut === last
      ? [`step ${cut.index} has ${part} of the GPU work of the step before`, 'it is left out of step figures']
      : [
          `steps ${cut.index}–${last.index} lack GPU work that the steps before have`,
          'they are left out of step figures',
        ];
  return found('warning', 'cut-last-step', 1, message, consequence, first);
}

function lostCalls(trace: Trace): readonly CheckResult[] {
  if (!trace.data.isCut) return [];
  const all = trace.steps.length > 0 ? trace.steps : [{ startNs: -Infinity, endNs: Infinity }];
  const lost = all.length - completeSteps(trace, all).length;
  const message = (where: string) => `the file is cut: calls or GPU work are missing in ${where}`;
  return lost === all.length
    ? found('severe', 'lost-calls', 1, message('every step'), 'nothing about it is certain')
    : found('warning', 'lost-calls', lost, message('some steps'), 'only whole steps in a row are used');
}

/** Pieces of GPU work that each step launched. */
function worksOf({ steps, links: { work, launch }, data: { ts } }: Trace): number[] {
  const works = steps.map(() => 0);
  inBlocks(work.length, (from, to) => {
    for (let i = from; i < to; i++) {
      const time = launch[i]! < 0 ? Number.NaN : ts[launch[i]!]!;
      const s = partitionPoint(steps.length, (k) => steps[k]!.startNs <= time) - 1;
      if (s >= 0 && time < steps[s]!.endNs) works[s]!++;
    }
  });
  return works;
}

function orphanedGpuWork(trace: Trace): readonly CheckResult[] {
  const { workWithoutLaunch, work } = trace.links;
  if (work.length === 0) return [];
  if (workWithoutLaunch === work.length)
    return found(
      'warning',
      'no-launches',
      1,
      'no call was recorded that starts GPU work',
      `what the GPU waits for is less sure, and gains are unknown; ${launchAdvice(acceleratorOf(trace))}`,
    );
  const severity = workWithoutLaunch > work.length * 0.05 ? 'warning' : 'note';
  const message = 'GPU work without the call that started it: launched before the window, or not recorded';
  return found(severity, 'gpu-work-without-launch', workWithoutLaunch, message, 'it belongs to no step');
}

const launchAdvice = ({ kind, byNsys }: Accelerator): string =>
  byNsys
    ? 'record with `nsys profile -t cuda,nvtx,osrt`'
    : `${recordBoth(kind)}, and keep the calls of the runtime`;

/** CUPTI may drop the first kernels of a session as "out of range", and says so only in its log (pytorch#192021). */
function droppedGpuWork(trace: Trace): readonly CheckResult[] {
  const { launchesWithoutWork, launches, work } = trace.links;
  if (work.length === 0) return [];
  const severity = launchesWithoutWork > launches * 0.02 ? 'warning' : 'note';
  const message = 'launches without GPU work: dropped by the profiler, or still running when it stopped';
  const consequence = 'GPU time is too low by their share';
  return found(severity, 'launch-without-gpu-work', launchesWithoutWork, message, consequence);
}

function compileInWindow(trace: Trace): readonly CheckResult[] {
  const onHost = ({ category }: KindInfo) => !isGpuWork(category) && category !== Category.flow;
  const compiles = trace.index.named(onHost, (text) => COMPILES.test(text));
  const message = 'code was compiled, tuned or loaded inside the window';
  const consequence = 'these steps are slower than usual; record after warm-up';
  return found('warning', 'compile-in-window', compiles.length, message, consequence, {
    unit: 'row',
    at: compiles[0] ?? -1,
  });
}

function stacksOn(trace: Trace): readonly CheckResult[] {
  const isPython = (k: KindInfo) => k.category === Category.pythonFunction && k.events > 0;
  if (!trace.data.kinds.some(isPython) && !trace.data.header.switches.includes('with_stack')) return [];
  const consequence = 'the host is much slower than without; host-bound figures are too high';
  return found('warning', 'with-stack', 1, 'Python stacks were recorded (with_stack)', consequence);
}

function slowSwitches(trace: Trace): readonly CheckResult[] {
  const on = trace.data.header.switches.filter((s) => s !== 'with_stack' && s !== 'with_modules');
  if (on.length === 0) return [];
  return found('note', 'slow-switches', 1, `recorded with ${on.join(', ')}`, 'each slows the host a little');
}

function slimmed({ data }: Trace): readonly CheckResult[] {
  const { dropped = [], unprofiled = null } = data.header.slimmed ?? {};
  const step =
    unprofiled === null ? '' : '; the step without the profiler is the estimate from the whole trace';
  const message = `events were left out by whyslow slim: ${dropped.slice(0, 5).join(', ')}`;
  return found('note', 'slimmed', dropped.length, message, `rules that need them are silent${step}`);
}

/** Clocks are read one after the other: a span may end this much after the one around it. */
const NESTING_TOLERANCE_NS = 1000;

/** Looks at each kind of event on a track by itself, in order of time, which is that of the file unless somebody sorted it. */
function overlappingSpans(trace: Trace): readonly CheckResult[] {
  const { data } = trace;
  if (data.tracks.length * data.kinds.length > MAX_LANES) return [];
  const looked = Math.min(data.rows, LOOKED_AT);
  const { overlaps, first } = overlapsIn(data, looked) ?? overlapsIn(data, looked, byTime(data, looked))!;
  const severity = overlaps > looked * 0.01 ? 'warning' : 'note';
  const part = looked < data.rows ? ` (of the first ${looked} rows)` : '';
  const message = `spans of one kind that overlap on a track without one enclosing the other${part}`;
  const consequence = 'the inner one counts as nested; other viewers drop such spans';
  return found(severity, 'overlapping-spans', overlaps, message, consequence, { unit: 'row', at: first });
}

/** The first `count` rows, or those of `order`. Null: time runs backwards on a lane. */
function overlapsIn(data: TraceData, count: number, order: Uint32Array | null = null) {
  const { ts, dur, kind, track } = data;
  const nests = nestingKinds(data);
  const lanes = data.tracks.length * data.kinds.length;
  const last = new Float64Array(lanes).fill(Number.NEGATIVE_INFINITY);
  const ends = new Array<number[] | undefined>(lanes);
  let [overlaps, first, isSorted] = [0, -1, true];
  inBlocks(order?.length ?? count, (from, to) => {
    for (let i = from; i < to && isSorted; i++) {
      const row = order ? order[i]! : i;
      const start = ts[row]!;
      if (nests[kind[row]!] === 0 || Number.isNaN(start)) continue;
      const lane = track[row]! * data.kinds.length + kind[row]!;
      isSorted = start >= last[lane]!;
      last[lane] = start;
      ends[lane] ??= [];
      const open = ends[lane];
      while (open.length > 0 && open.at(-1)! <= start) open.pop();
      const end = start + dur[row]!;
      if (open.length > 0 && end > open.at(-1)! + NESTING_TOLERANCE_NS) {
        if (first < 0) first = row;
        overlaps++;
      }
      open.push(end);
    }
  });
  return isSorted ? { overlaps, first } : null;
}

function byTime(data: TraceData, count: number): Uint32Array {
  const { ts, dur, kind } = data;
  const nests = nestingKinds(data);
  const rows = Uint32Array.from({ length: count }, (_, row) => row);
  return sortByTime(
    rows.filter((row) => nests[kind[row]!] === 1 && !Number.isNaN(ts[row]!)),
    ts,
    dur,
  );
}

const nestingKinds = (data: TraceData) => kindMask(data, (c, phase) => phase === 'X' && NESTING.includes(c));

/** The first rows tell whether a trace has such spans. Counting all of millions would take too long. */
const LOOKED_AT = 100_000;
/** No real trace comes near it. A damaged one must not make us allocate for 65,000 tracks of 255 kinds. */
const MAX_LANES = 1 << 20;
const NESTING: readonly number[] = [
  Category.cpuOp,
  Category.pythonFunction,
  Category.runtime,
  Category.driver,
  Category.kernel,
  Category.memcpy,
  Category.memset,
];

function oddDurations({ data }: Trace): readonly CheckResult[] {
  const isSpan = kindMask(data, (_, phase) => phase === 'X');
  const isWork = kindMask(data, (c) => c === Category.kernel || c === Category.memcpy);
  let negative = 0;
  let zero = 0;
  let first = -1;
  const { dur, kind } = data;
  inBlocks(data.rows, (from, to) => {
    for (let row = from; row < to; row++) {
      const duration = dur[row]!;
      if (duration > 0 || isSpan[kind[row]!] === 0) continue;
      if (duration < 0) {
        if (first < 0) first = row;
        negative++;
      } else zero += isWork[kind[row]!]!;
    }
  });
  const row = { unit: 'row', at: first } as const;
  const message = 'spans with a negative duration';
  return [
    ...found('warning', 'negative-duration', negative, message, 'counted as 0 long', row),
    ...found('note', 'zero-duration', zero, 'GPU work that took no time', 'counted, but adds nothing'),
  ];
}

export function checkTrace(trace: Trace): readonly CheckResult[] {
  return TRACE_CHECKS.flatMap((check) => {
    try {
      return check(trace);
    } catch (error) {
      // A bug in one check must not cost the user all the others.
      const message = `the check ${check.name} failed: ${error instanceof Error ? error.message : String(error)}`;
      return found('warning', 'check-failed', 1, message, 'please report it; the other checks ran');
    }
  });
}
