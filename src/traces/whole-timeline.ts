import type { StepRange } from '../facts/step-facts.js';
import { totals } from '../facts/time-class.js';
import type { Trace } from '../model/trace.js';
import { buildHostTree } from './detail/host-tree.js';
import { operatorSpans } from './detail/pauses.js';
import { classifyNames } from './kernels/classify.js';
import type { KernelKinds } from './kernels/kernel-kind.js';
import { type Accounting, accountHostTime, accountTime } from './timeline/accounting.js';
import { type GpuWork, orderGpuWork } from './timeline/gpu-work.js';
import { findHostSpans, withInferredInput } from './timeline/host-spans.js';
import { inferInputWaits } from './timeline/inferred-input.js';
import { findStepTimes, type StepTimes } from './timeline/step-times.js';

/** Every whole step of a trace with what the device did in it. A diagnosis looks at fewer: see `analyseTrace`. */
export interface WholeTimeline {
  readonly work: GpuWork;
  readonly kinds: KernelKinds;
  readonly times: StepTimes;
  /** Where each step begins, and where the last ends. */
  readonly bounds: readonly number[];
  readonly accounting: Accounting;
}

/** Null when the trace has neither host events nor GPU work. A range without steps gives a timeline without steps. */
export function wholeTimeline(trace: Trace, range: StepRange | null = null): WholeTimeline | null {
  const work = orderGpuWork(trace);
  const recorded = findHostSpans(trace, work);
  if (recorded.main < 0 && work.length === 0) return null;
  const kinds = classifyNames(trace);
  const times = findStepTimes(trace, work, recorded, range);
  const bounds = [times.begin, ...times.steps.map((s) => s.frontier)];
  const [from, to] = [bounds[0]!, bounds.at(-1)!];
  if (times.steps.length === 0) return { work, kinds, times, bounds, accounting: NOTHING };
  const host = withInferredInput(recorded, inferInputWaits(trace, work, kinds, recorded, times));
  if (work.length > 0)
    return { work, kinds, times, bounds, accounting: accountTime(trace, work, kinds, host, from, to) };
  const tree = buildHostTree(trace, host.threads, from, to);
  return { work, kinds, times, bounds, accounting: accountHostTime(operatorSpans(tree), host, from, to) };
}

/** The whole steps alone. Null: as above. */
export function stepTimesOf(trace: Trace): StepTimes | null {
  const work = orderGpuWork(trace);
  const host = findHostSpans(trace, work);
  return host.main < 0 && work.length === 0 ? null : findStepTimes(trace, work, host, null);
}

const NONE = { start: new Float64Array(0), end: new Float64Array(0), length: 0 };
const NOTHING: Accounting = {
  spans: {
    compute: NONE,
    comms_transfer: NONE,
    comms_wait: NONE,
    copy: NONE,
    idle_data: NONE,
    idle_sync: NONE,
    idle_compile: NONE,
    idle_comms: NONE,
    idle_host: NONE,
    idle_other: NONE,
  },
  total: totals(() => 0),
  copies: { toDevice: 0, toHost: 0 },
};
