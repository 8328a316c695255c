import { mean } from '../../base/statistics.js';
import type { HostSpans } from '../timeline/host-spans.js';
import type { StepWindow } from '../timeline/step-window.js';
import { isFedByWorkers, type LoaderQueue } from './loader-queue.js';

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
