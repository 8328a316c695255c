import { share } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { CapturedLoader, CapturedRank } from '../../diagnosis/run-facts.js';
import type { Unsplit } from '../../remedies/fixes/loader.js';
import type { WorkerUse } from '../../telemetry/processes/job-activity.js';
import { silentBelow } from './evidence.js';
import { type Level, type Levels, type Silent, silent, threshold } from './rule.js';

export const INPUT_WAIT = threshold(
  'input wait',
  share(0.05),
  'of the step',
  'TensorBoard plugin and XProf: 5%',
);

export const silentIfFed = (view: RankView): Silent | undefined =>
  silentBelow(view, view.time.idle_data, INPUT_WAIT, 'input waits are');

/** Batches come from a DataLoader, as far as the recording shows. */
export const loadsBatches = (view: RankView): boolean =>
  view.source === 'log' || view.facts.input.inMain + view.facts.input.inWorkers > 0;

export const NO_WORKERS = silent('no DataLoader with workers found');

/** What keeps a loader from being faster. `cores`: more threads are ready to run than there are cores. */
export type LoaderLimit = 'cpu' | 'io' | 'cores' | 'handover' | 'unknown';

/** A thread that sleeps this much of its time waits for a disk or a network. */
const SLEEPS = 0.5;
/** A thread that waits for a core this much of its time shows that cores are short. */
const SHORT_OF_CORES = 0.3;
/** The training thread computes for most of a request: it unpacks batches, it does not wait for workers. */
const UNPACKS = 0.5;

/**
 * What limits the loader, from what its threads did. `sampled`: what its workers slept in. Workers that mostly wait for a
 * request, or in a lock, do not read.
 */
export function limitOf(
  loader: CapturedLoader | null | undefined,
  sampled: WorkerUse | null = null,
): LoaderLimit {
  if (!loader) return 'unknown';
  const inMain = loader.numWorkers === 0;
  if (!inMain && (loader.fetchRan ?? 0) >= UNPACKS) return 'handover';
  const ran = inMain ? loader.fetchRan : loader.workersRan;
  const queued = (inMain ? loader.fetchQueued : loader.workersQueued) ?? 0;
  if (ran === null) return 'unknown';
  if (sampled && !inMain && sampled.asks > Math.max(SLEEPS, sampled.disk + sampled.network + sampled.pause))
    return 'unknown';
  if (1 - ran - queued >= SLEEPS) return 'io';
  return queued >= SHORT_OF_CORES ? 'cores' : 'cpu';
}

/** Cores that this rank may use. Null: unknown. */
export function coresOf(captured: CapturedRank | undefined): number | null {
  const cores = captured?.cores;
  if (!cores) return null;
  return Math.max(1, Math.floor(Math.min(cores.allowed, cores.quota ?? cores.allowed) / cores.ranks));
}

/**
 * Time × workers ÷ time on the training thread, on 16 cores of an H200 machine: FFT 1.3–1.75, parsing 1.06–1.22, reading
 * files 0.93. The last is below 1 because reads of several workers overlap.
 */
const WORKER_COST: Readonly<Record<LoaderLimit, Levels>> = {
  cpu: { low: 1.75, likely: 1.25, high: 1.05 },
  io: { low: 1.1, likely: 0.95, high: 0.9 },
  cores: { low: 1.75, likely: 1.4, high: 1.1 },
  handover: { low: 1.75, likely: 1.4, high: 1.1 },
  unknown: { low: 1.6, likely: 1.1, high: 0.93 },
};
/** What a small machine surely has, what most have, what large ones have. */
export const USUAL_WORKERS: Levels = { low: 4, likely: 8, high: 16 };
/** Workers beyond what the mean rate needs: batches differ. */
const SPARE = 1.25;

export interface WorkerPlan {
  /** Workers to advise. */
  readonly workers: number;
  /** However fast the rest becomes, a step takes at least this long. ns. */
  floor(level: Level): number;
  /** The number of cores is known. */
  readonly coresKnown: boolean;
}

/**
 * How many workers make a batch within a step. `work`: ns that one worker needs for a batch. `step`: ns of a step that does
 * not wait. Never more workers than cores minus one for the training process, unless its workers mostly sleep.
 */
export function planWorkers(
  work: number,
  step: number,
  captured: CapturedRank | undefined,
  least = 1,
): WorkerPlan {
  const limit = limitOf(captured?.loader);
  const cost = WORKER_COST[limit];
  const cores = coresOf(captured);
  if (cores === null) {
    const of = (level: Level) => Math.max(least, USUAL_WORKERS[level]);
    // The number of workers is the larger uncertainty, and covers what a worker costs.
    return { workers: of('likely'), coresKnown: false, floor: (l) => (work * cost.likely) / of(l) };
  }
  const most = limit === 'io' ? cores : Math.max(1, cores - 1);
  const needed = Math.ceil((SPARE * work * cost.likely) / Math.max(1, step));
  const workers = Math.max(1, Math.min(most, Math.max(needed, least, 2)));
  return { workers, coresKnown: true, floor: (level) => (work * cost[level]) / workers };
}

/** Whether this many workers may feed samples more than once: those of an IterableDataset each yield everything. */
export function unsplitBy(workers: number, loader: CapturedLoader | null | undefined): Unsplit | null {
  if (workers <= 1 || loader?.iterable !== true || loader.splitByWorker === true) return null;
  return loader.splitByWorker === false ? 'surely' : 'maybe';
}
