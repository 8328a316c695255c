import { ns } from '../base/units.js';
import type { RankCollectives } from '../facts/rank-collectives.js';
import { cutTimeline, type RankTimeline } from '../facts/rank-timeline.js';
import type { StepRange } from '../facts/step-facts.js';
import { totals } from '../facts/time-class.js';
import { WorkSort } from '../facts/work-sort.js';
import { Category } from '../model/category.js';
import { kindMask, type Trace } from '../model/trace.js';
import type { DeviceInfo } from '../model/trace-data.js';
import { extractCollectives } from './collectives/extract.js';
import { buildHostTree } from './detail/host-tree.js';
import { inputFacts } from './detail/input-facts.js';
import { buildKernelTable } from './detail/kernel-table.js';
import { totalOperators } from './detail/operators.js';
import { findSilences, operatorSpans } from './detail/silences.js';
import { classifyNames } from './kernels/classify.js';
import type { KernelKind } from './kernels/kernel-kind.js';
import { buildPlan } from './plan/build-plan.js';
import { markEagerAttention } from './plan/eager-attention.js';
import { type Accounting, accountHostTime, accountParts, accountTime } from './timeline/accounting.js';
import { gpuUnions } from './timeline/gpu-unions.js';
import { type GpuWork, orderGpuWork, workBetween } from './timeline/gpu-work.js';
import { COLLECTIVE_SPAN, findHostSpans, type HostSpans, withUnmarkedInput } from './timeline/host-spans.js';
import { findStepTimes, type StepTime } from './timeline/step-times.js';
import { detailRange, representative, windowOf } from './timeline/step-window.js';
import { findUnmarkedInput } from './timeline/unmarked-input.js';
import { workSorts } from './timeline/work-sorts.js';
import type { AnalyseOptions, TraceFacts } from './trace-facts.js';

/** Kernels and operators that facts without a plan keep. */
const LIGHT_ROWS = 40;

/** What is needed to compare ranks and to give a verdict, small enough for hundreds of them. */
function lighten(facts: TraceFacts): TraceFacts {
  const { detail } = facts;
  return {
    ...facts,
    kernels: facts.kernels.slice(0, LIGHT_ROWS),
    detail: detail && { ...detail, plan: null, operators: detail.operators.slice(0, LIGHT_ROWS) },
    light: true,
  };
}

/** Null when the trace has neither host events nor GPU work in it, or the steps asked for are not in it. */
export function analyseTrace(trace: Trace, options: AnalyseOptions): TraceFacts | null {
  const facts = factsOf(trace, options.steps);
  return facts && options.light ? lighten(facts) : facts;
}

function factsOf(trace: Trace, range: StepRange | null): TraceFacts | null {
  const work = orderGpuWork(trace);
  const marked = findHostSpans(trace, work);
  if (marked.main < 0 && work.length === 0) return null;
  const kinds = classifyNames(trace);
  const all = findStepTimes(trace, work, marked, range);
  if (all.steps.length === 0) return null;
  const times = { ...all, steps: all.steps.slice(0, representative(all.steps)) };
  const unmarked = findUnmarkedInput(trace, work, kinds, marked, times);
  const host = withUnmarkedInput(marked, unmarked);
  const window = windowOf(times.steps, times.begin, times.source, times.afterAnother);
  const perStep = (time: number) => ns(time / window.count);
  const detailSteps = detailRange(times.steps, all.steps.length);
  const inDetail = times.steps.slice(0, detailSteps);
  const kernels = buildKernelTable(trace, work, kinds, times.stepOf, detailSteps);
  const tree = buildHostTree(trace, host.threads, inDetail[0]!.hostStart, inDetail.at(-1)!.hostEnd);
  const operators = operatorSpans(tree);
  const accounting =
    work.length > 0
      ? accountTime(trace, workBetween(work, window.from, window.to), kinds, host, window.from, window.to)
      : accountHostTime(operators, host, window.from, window.to);
  const frames = framesOf(trace, host, inDetail);
  const plan = buildPlan({
    ...{ trace, kinds, work, stepOf: times.stepOf, host, tree, frames, steps: inDetail, firstStep: 0 },
    kernelOf: kernels.placeOf,
    wholeFirst: window.wholeFirst,
    begin: times.begin,
  });
  if (plan) markEagerAttention(plan, kernels.list);
  const collectives = communicates(trace, work, kinds, marked)
    ? extractCollectives(trace, work, kinds, all, { blocking: marked.waits.comms })
    : null;
  return {
    source: 'trace',
    phases: null,
    light: false,
    device: deviceOf(trace),
    switches: trace.data.header.switches,
    hasGpuWork: work.length > 0,
    hasHostEvents: tree.length > 0,
    steps: {
      source: times.source,
      total: all.steps.length,
      count: window.count,
      cut: times.cut,
      irregular: window.irregular,
      first: window.steps[0]!.index,
      last: window.steps.at(-1)!.index,
      profiled: perStep(window.to - window.from),
      periods: window.bounds.slice(1).map((end, i) => ns(end - window.bounds[i]!)),
      indices: window.steps.map((s) => s.index),
    },
    time: totals((c) => perStep(accounting.total[c])),
    timePerStep: accountParts(accounting, window.bounds),
    copies: { toDevice: perStep(accounting.copies.toDevice), toHost: perStep(accounting.copies.toHost) },
    gpu: gpuUnions(trace, work, kinds),
    collectives,
    timeline: collectives && timelineOf(accounting, window.bounds, collectives),
    input: inputFacts(trace, host, unmarked, window.steps),
    kernels: kernels.list,
    detail:
      tree.length === 0
        ? null
        : {
            ...{ plan, steps: detailSteps, operators: totalOperators(trace, tree), frames: frames.length },
            events: tree.counted.reduce((n, c) => n + c, 0),
            silences: findSilences(host, inDetail, operators),
          },
  };
}

function timelineOf(
  { spans }: Accounting,
  bounds: readonly number[],
  { start }: RankCollectives,
): RankTimeline {
  return cutTimeline({ spans, stepFrom: bounds.slice(0, -1), stepTo: bounds.slice(1), arrivals: start });
}

/** Whether there is anything to compare with other ranks: looking for it takes a pass over all calls. */
function communicates(
  trace: Trace,
  work: GpuWork,
  kinds: readonly (KernelKind | undefined)[],
  host: HostSpans,
): boolean {
  if (trace.data.collectives.row.length > 0 || host.ofKind(COLLECTIVE_SPAN).length > 0) return true;
  const sorts = workSorts(kinds);
  return work.row.some((row) => sorts[trace.data.name[row]!] === WorkSort.comms);
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
