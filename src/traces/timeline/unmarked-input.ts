import { NO_SPANS, type Spans, SpanUnion } from '../../base/intervals.js';
import type { Trace } from '../../model/trace.js';
import type { KernelKind } from '../kernels/kernel-kind.js';
import type { GpuWork } from './gpu-work.js';
import { DATA_SPAN, type HostSpans } from './host-spans.js';
import type { StepTimes } from './step-times.js';

/** Shorter beginnings of steps are ordinary Python. */
const LEAST_NS = 1_000_000;

/**
 * Loops without a DataLoader leave no span around fetching a batch. What shows is a step that launches nothing for a
 * while and then, first of all, copies something to the device: that while is taken for making the batch. Only where
 * steps are marked (`profiler.step()` is the line before) and no loader is.
 */
export function findUnmarkedInput(
  trace: Trace,
  work: GpuWork,
  kinds: readonly (KernelKind | undefined)[],
  host: HostSpans,
  times: StepTimes,
): Spans {
  if (times.source !== 'profiler' || host.ofKind(DATA_SPAN).length > 0) return NO_SPANS;
  const { ts, name } = trace.data;
  const first = new Array<{ at: number; row: number } | undefined>(times.steps.length);
  for (let i = 0; i < work.length; i++) {
    const step = times.stepOf[i]!;
    if (step < 0 || step >= first.length || work.launchRow[i]! < 0) continue;
    const at = ts[work.launchRow[i]!]!;
    if (first[step] === undefined || at < first[step].at) first[step] = { at, row: work.row[i]! };
  }
  const spans = new SpanUnion();
  times.steps.forEach((step, i) => {
    const launch = first[i];
    if (!launch || kinds[name[launch.row]!]?.copy?.direction !== 'HtoD') return;
    if (launch.at - step.hostStart >= LEAST_NS) spans.add(step.hostStart, launch.at);
  });
  return spans.finish();
}
