import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import { isMeasured } from '../../facts/step-facts.js';
import type { LoaderQueue } from '../../traces/detail/loader-queue.js';

/** With fewer batches taken, two that arrive late look like a queue that empties. */
const LEAST_TAKEN = 3;
/**
 * A queue to which fewer batches are added than this part of those taken is running empty. Of 63 traces with workers, two
 * whole ones and 12 of 14 cuts to fewer steps that this finds are of loops that wait for input once the queue is empty.
 */
const RUNS_EMPTY = 0.5;
/** From here on the workers keep up. */
const KEEPS_UP = 0.75;
/** In fewer steps, batches that were loaded ahead can hide a slow loader: each worker keeps several of them. */
const FEW_STEPS = 8;

/**
 * The prefetch queue of a trace in which steps found their batches ready, but workers delivered far fewer than were taken:
 * it filled while the profiler started, and the job will wait once it is empty. Null: not so, or an event log knows better.
 */
export function emptyingQueue(view: RankView): LoaderQueue | null {
  const queue = view.source === 'trace' && !isMeasured(view.step) ? view.facts.input.queue : null;
  return queue && queue.taken >= LEAST_TAKEN && queue.delivered < RUNS_EMPTY * queue.taken ? queue : null;
}

/** Whether a trace is too short to tell if its workers keep up. */
export function mayHideSlowWorkers(view: RankView): boolean {
  if (view.source === 'log' || isMeasured(view.step) || view.facts.input.inWorkers === 0) return false;
  const { queue } = view.facts.input;
  const keepsUp = queue !== null && queue.delivered >= KEEPS_UP * queue.taken;
  return !keepsUp && view.facts.steps.count < FEW_STEPS;
}
