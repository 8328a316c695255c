import type { Trace } from '../model/trace.js';
import { buildHostTree } from './detail/host-tree.js';
import { operatorSpans } from './detail/pauses.js';
import { classifyNames } from './kernels/classify.js';
import type { KernelKinds } from './kernels/kernel-kind.js';
import { type Accounting, accountHostTime, accountTime } from './timeline/accounting.js';
import { type GpuWork, orderGpuWork } from './timeline/gpu-work.js';
import { findHostSpans, type HostSpans, withInferredInput } from './timeline/host-spans.js';
import { inferInputWaits } from './timeline/inferred-input.js';
import { findStepTimes, type StepTimes } from './timeline/step-times.js';

/** The whole recording divided as the facts divide their steps: what is drawn. */
export interface WholeTimeline {
  readonly work: GpuWork;
  readonly kinds: KernelKinds;
  readonly host: HostSpans;
  /** All whole steps. Null: none was found. */
  readonly times: StepTimes | null;
  /** Over `from` to `to`. */
  readonly accounting: Accounting;
  readonly from: number;
  readonly to: number;
}

/** Null when the trace has neither host events nor GPU work. */
export function wholeTimeline(trace: Trace): WholeTimeline | null {
  const work = orderGpuWork(trace);
  const recorded = findHostSpans(trace, work);
  if (recorded.main < 0 && work.length === 0) return null;
  const kinds = classifyNames(trace);
  const times = findStepTimes(trace, work, recorded, null);
  const host = withInferredInput(recorded, inferInputWaits(trace, work, kinds, recorded, times));
  const { from, to } = extentOf(work, host);
  const accounting =
    work.length > 0
      ? accountTime(trace, work, kinds, host, from, to)
      : accountHostTime(operatorSpans(buildHostTree(trace, host.threads, from, to)), host, from, to);
  return { work, kinds, host, times: times.steps.length > 0 ? times : null, accounting, from, to };
}

function extentOf(work: GpuWork, host: HostSpans): { from: number; to: number } {
  let to = host.to;
  for (let i = 0; i < work.length; i++) if (work.end[i]! > to) to = work.end[i]!;
  return { from: Math.min(host.from, work.start[0] ?? host.from), to };
}

/** Where each step begins, and where the last ends. Empty without steps. */
export const stepBounds = (times: StepTimes | null): readonly number[] =>
  times ? [times.begin, ...times.steps.map((s) => s.frontier)] : [];

/** The whole steps alone. Null: as above. */
export function stepTimesOf(trace: Trace): StepTimes | null {
  const work = orderGpuWork(trace);
  const host = findHostSpans(trace, work);
  return host.main < 0 && work.length === 0 ? null : findStepTimes(trace, work, host, null);
}
