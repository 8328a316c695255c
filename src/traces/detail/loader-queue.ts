import { inBlocks } from '../../base/blocks.js';
import { isInside, unionOfSpans } from '../../base/intervals.js';
import { mean } from '../../base/statistics.js';
import { Category } from '../../model/category.js';
import { CHECKS_PINNED, LOADS_IN_WORKERS } from '../../model/host-names.js';
import type { Trace } from '../../model/trace.js';
import type { KernelKinds } from '../kernels/kernel-kind.js';
import type { GpuWork } from '../timeline/gpu-work.js';
import { DATA_SPAN, type HostSpans } from '../timeline/host-spans.js';
import type { StepTime } from '../timeline/step-times.js';
import type { StepWindow } from '../timeline/step-window.js';

/** Batches that the steps took from the prefetch queue, and batches that the workers put into it meanwhile. */
export interface LoaderQueue {
  readonly taken: number;
  /** Not a whole number: tensors are counted, and the recording may begin or end between two of a batch. */
  readonly delivered: number;
  /** The part of `delivered` that arrived while no step waited for a batch. */
  readonly deliveredUnasked: number;
}

/**
 * Batches that arrive while no step waits, as a part of those taken: 1.0 where every seventh batch is slow, 0 to 0.63 in
 * 13 recordings whose loader is too slow (zoo).
 */
export const REFILLS = 0.75;

/** Whether the workers refill the queue while steps find their batches ready. */
export const refills = ({ deliveredUnasked, taken }: LoaderQueue): boolean =>
  deliveredUnasked >= REFILLS * taken;

/** Whether all batches come from workers that load them one after the other, without a new epoch or a queue to draw from. */
export const isFedByWorkers = (
  { inWorkers, inMain }: { readonly inWorkers: number; readonly inMain: number },
  restarts: boolean,
  queue: LoaderQueue | null,
): boolean => inWorkers > 0 && inMain === 0 && !restarts && !(queue && refills(queue));

/**
 * A loader with workers and pin_memory pins each tensor on a thread of its own as soon as it arrives, and CUDA records
 * that. Null if unknown: no workers, batches are not pinned there, or that thread was not recorded.
 */
export function loaderQueue(
  trace: Trace,
  work: GpuWork,
  kinds: KernelKinds,
  host: HostSpans,
  steps: readonly StepTime[],
): LoaderQueue | null {
  const [from, to] = [steps[0]!.hostStart, steps.at(-1)!.hostEnd];
  const requests = host
    .ofKind(DATA_SPAN)
    .filter((s) => s.start >= from && s.start < to && LOADS_IN_WORKERS.test(trace.name(s.row)));
  const taken = requests.length - host.restarts.filter((r) => r.start >= from && r.start < to).length;
  if (taken <= 0) return null;
  const { ts, track } = trace.data;
  const inFile = trace.index.named(
    ({ category }) => category === Category.runtime,
    (text) => CHECKS_PINNED.test(text),
  );
  const isTraining = (row: number) => host.threads.includes(track[row]!);
  // No arrival anywhere: the thread was not recorded, or pins nothing. That says nothing about the workers.
  if (inFile.every(isTraining)) return null;
  const checks = inFile.filter((row) => ts[row]! >= from && ts[row]! < to);
  // What the training thread pins itself does not come through the queue.
  const pinnedByTraining = checks.filter(isTraining).length;
  const copied = pinnedCopies(trace, work, kinds, from, to) - pinnedByTraining;
  const tensors = Math.round(copied / taken);
  if (tensors < 1) return null;
  const arrivals = checks.filter((row) => !isTraining(row));
  const waits = unionOfSpans(requests);
  const unasked = arrivals.filter((row) => !isInside(waits, ts[row]!));
  return {
    taken,
    delivered: arrivals.length / tensors,
    deliveredUnasked: unasked.length / tensors,
  };
}

/** Copies from pinned memory to the device that were launched between two times. */
function pinnedCopies(trace: Trace, work: GpuWork, kinds: KernelKinds, from: number, to: number): number {
  const { ts, name } = trace.data;
  let count = 0;
  inBlocks(work.length, (first, last) => {
    for (let i = first; i < last; i++) {
      const launch = work.launchRow[i]!;
      if (launch < 0 || !(ts[launch]! >= from && ts[launch]! < to)) continue;
      const copy = kinds[name[work.row[i]!]!]?.copy;
      if (copy?.direction === 'HtoD' && copy.hostMemory === 'pinned') count++;
    }
  });
  return count;
}

/**
 * Taking over a batch that is ready takes less than both: 0.0 to 0.2 ms in the zoo, 1.7 ms and 5% of the step in a
 * Lightning job. Workers that set the pace are waited for 30% of the step or more.
 */
const TAKEOVER = 0.1;
const TAKEOVER_NS = 5_000_000;

/**
 * The recorded step, over the first `counted` that count, where steps wait for the loader's workers. The profiler does not
 * slow these: without it the wait is longer, and the step as long. 0: the workers keep up, or an epoch ends and they begin
 * when they are asked to. `idle`: time in which nothing runs because a batch is awaited, in all steps.
 */
export function workerPace(
  host: HostSpans,
  queue: LoaderQueue | null,
  { from, to, bounds }: StepWindow,
  counted: number,
  idle: number,
): number {
  const restarts = host.restarts.some((r) => r.end > from && r.start < to);
  if (!isFedByWorkers(host.loaders, restarts, queue) || idle < TAKEOVER * (to - from)) return 0;
  const { start, end } = host.waits.data;
  const isLong = (i: number) => end[i]! > from && start[i]! < to && end[i]! - start[i]! >= TAKEOVER_NS;
  if (!start.some((_, i) => isLong(i))) return 0;
  return mean(Array.from({ length: counted }, (_, i) => bounds[i + 1]! - bounds[i]!));
}
