import { CoverageCursor, NO_SPANS, type Spans, SpanUnion, union } from '../../base/intervals.js';
import { mean, median } from '../../base/statistics.js';
import type { Trace } from '../../model/trace.js';
import type { KernelKinds } from '../kernels/kernel-kind.js';
import type { GpuWork } from './gpu-work.js';
import { DATA_SPAN, type HostSpans, hasOperators } from './host-spans.js';
import { osCalls, readSpans } from './os-calls.js';
import type { StepTimes } from './step-times.js';

/** Shorter times before the first launch are ordinary Python. */
const LEAST_NS = 1_000_000;

/**
 * Waits for input in loops without a DataLoader, which leave no span. If the first thing a step launches is a copy to the
 * device, the time before that copy is taken for making the batch: only if operators were recorded, there are steps, and no
 * loader was seen. If calls of the operating system were recorded, reads count too.
 */
export function inferInputWaits(
  trace: Trace,
  work: GpuWork,
  kinds: KernelKinds,
  host: HostSpans,
  times: StepTimes,
): Spans {
  if (host.ofKind(DATA_SPAN).length > 0) return NO_SPANS;
  // Whatever a loop without a DataLoader reads on its training thread is input.
  const read = readSpans(osCalls(trace, host.threads));
  if (times.source === 'window' || times.source === 'dataloader' || !hasOperators(trace)) return read;
  const { ts, name } = trace.data;
  const first = new Array<{ time: number; row: number } | undefined>(times.steps.length);
  for (let i = 0; i < work.length; i++) {
    const step = times.stepOf[i]!;
    if (step < 0 || step >= first.length || work.launchRow[i]! < 0) continue;
    const time = ts[work.launchRow[i]!]!;
    if (first[step] === undefined || time < first[step].time) first[step] = { time, row: work.row[i]! };
  }
  const spans = new SpanUnion();
  times.steps.forEach(({ hostStart }, i) => {
    const launch = first[i];
    if (!launch || kinds[name[launch.row]!]?.copy?.direction !== 'HtoD') return;
    if (launch.time - hostStart >= LEAST_NS) spans.add(hostStart, launch.time);
  });
  return union(spans.finish(), read);
}

/** The first step waits for input this part of a usual step, and this many times as long as the others. */
const PART_OF_STEP = 0.5;
const TIMES_THE_OTHERS = 3;

/**
 * Whether the only long wait for input is in the first step: the steps after it live off the batches that its workers have
 * loaded meanwhile. Not in the job's first step, in which the workers start.
 */
export function firstWaitedAlone(host: HostSpans, { steps, source }: StepTimes): boolean {
  if (host.loaders.inWorkers === 0 || source !== 'profiler' || steps.length < 2 || !(steps[0]!.index > 0))
    return false;
  const waiting = new CoverageCursor(host.waits.data);
  const [first, ...others] = steps.map((s) => waiting.covered(s.hostStart, s.hostEnd));
  const usual = median(steps.slice(1).map((s, i) => s.frontier - steps[i]!.frontier));
  return first! > PART_OF_STEP * usual && first! > TIMES_THE_OTHERS * mean(others);
}
