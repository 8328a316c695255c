import { smallest } from '../../base/statistics.js';
import { formatMs, fromMs, ms, type Ns, ns, share } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { CapturedLoader, CapturedRank } from '../../diagnosis/run-facts.js';
import type { Unsplit } from '../../remedies/fixes/loader.js';
import { type Use, use } from '../../remedies/remedies.js';
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

/** A loader's work for one batch. ns. */
export interface BatchWork {
  /** What one worker needs that has a core to itself. */
  readonly time: number;
  /** The part of it in which the worker runs; in the rest it waits for a disk, a network or a timer. */
  readonly cpu: number;
  /** What it waits for a core. Gone if cores are free then. */
  readonly queued: number;
  /** Batches of an epoch. Null: unknown, or without end. */
  readonly batches: number | null;
}

/**
 * What a batch takes, from what capture saw of the threads that make it. `per`: ns of one request without workers, or
 * between two batches with workers that never rest. Null: nothing was seen of them.
 */
export function batchWork(loader: CapturedLoader | null | undefined, per: number): BatchWork | null {
  if (!loader || loader.numWorkers === null) return null;
  const inMain = loader.numWorkers === 0;
  const [ran, queued] = inMain
    ? [loader.fetchRan, loader.fetchQueued]
    : [loader.workersRan, loader.workersQueued];
  if (ran === null) return null;
  const batches = loader.batches || null;
  const all = per * (inMain ? 1 : Math.min(loader.numWorkers, batches ?? loader.numWorkers));
  const waits = queued ?? 0;
  return { time: all * (1 - waits), cpu: Math.min(ran, 1 - waits) * all, queued: all * waits, batches };
}

/**
 * Time × workers ÷ time on the training thread, on 16 cores of an H200 machine: FFT 1.3–1.75, parsing 1.06–1.22, reading
 * files 0.93. The last is below 1 because reads of several workers overlap. On 2 cores, 8 workers that sleep took 1.3 and 1.9 times
 * as long (a loop of sleeps; `../shared/jobs` p12, on a busy machine).
 */
const COMPUTING: Levels = { low: 1.75, likely: 1.25, high: 1.05 };
const WAITING: Levels = { low: 1.9, likely: 0.95, high: 0.9 };
/** The same for workers that are there already. */
const WAITING_MORE: Levels = { low: 1.5, likely: 1, high: 0.95 };
/**
 * What the training thread computes to take a batch from a worker: 0.3 ms for 64 floats a sample, 1.8 ms for 10 MB in all (2 cores,
 * torch 2.13, 1 and 4 workers alike). ns.
 */
export const HANDOVER: Levels = { low: 1.8e6, likely: 0.35e6, high: 0.3e6 };
const UNKNOWN: Levels = { low: 1.6, likely: 1.1, high: 0.93 };
/** Workers that compute already share caches and memory (zoo, FFT: 1.4 for each of 4, up to 1.75 for each of 12). */
const ADDED: Levels = { low: 1.3, likely: 1.1, high: 1 };
/**
 * Starting one worker, once in the job: 55 ms for one that capture saw on a busy machine of 2 cores, a fork alone takes a few. In a
 * short job it counts: 120 steps of 84 ms took 22 ms with 8 workers, although eight of them need 10 (`../shared/jobs` p12). ns.
 */
const STARTING: Levels = { low: 60e6, likely: 15e6, high: 4e6 };
/** What a small machine surely has, what most have, what large ones have. */
export const USUAL_WORKERS: Levels = { low: 4, likely: 8, high: 16 };
/** Workers beyond what the mean rate needs: batches differ. */
const SPARE = 1.25;
/** Fewer workers that come this close to the best are better: each takes memory. */
const NEARLY = 1.05;
/** Each worker holds a copy of what the dataset holds, open files and its queue: more of them need a reason that we cannot see. */
const MOST_WORKERS = 32;

export interface WorkerPlan {
  /** Workers to advise. */
  readonly workers: number;
  /** However fast the rest becomes, a step takes at least this long. ns. */
  floor(level: Level): number;
  /** The number of cores is known. */
  readonly coresKnown: boolean;
}

export interface LoadedStep {
  readonly per: number;
  readonly step: number;
  readonly wait: number;
  readonly now?: number;
}

/**
 * How many workers feed the step. A worker that waits needs no core, so latency is hidden by as many workers as batches are
 * to be under way; workers that compute, and the training thread as far as it computes, share the cores. The first batch of
 * an epoch is never made ahead, and no epoch keeps more workers busy than it has batches.
 *
 * `work`: null if only `per` is known, the time of a batch. `step`: ns of a step, `wait`: what it waits for input. `now`:
 * workers that the loader has.
 */
export function planWorkers(
  work: BatchWork | null,
  { per, step: whole, wait, now = 0 }: LoadedStep,
  captured: CapturedRank | undefined,
): WorkerPlan {
  const step = whole - wait;
  const cores = coresOf(captured);
  const least = Math.max(1, now);
  if (cores === null) {
    const of = (level: Level) => Math.max(least, USUAL_WORKERS[level]);
    const cost = work && work.cpu <= (1 - SLEEPS) * work.time ? WAITING : work ? COMPUTING : UNKNOWN;
    // The number of workers is the larger uncertainty, and covers what a worker costs.
    return { workers: of('likely'), coresKnown: false, floor: (l) => (per * cost.likely) / of(l) };
  }
  const { time: all, cpu, queued, batches } = work ?? { time: per, cpu: per, queued: 0, batches: null };
  const computing = (level: Level) => cpu * (work ? (now > 0 ? ADDED : COMPUTING) : UNKNOWN)[level];
  // Other processes may go on taking the cores.
  const held = (level: Level) => (level === 'low' ? queued : 0);
  const time = (level: Level) =>
    computing(level) + held(level) + (all - cpu) * (now > 0 ? WAITING_MORE : WAITING)[level];
  const starting = (workers: number, level: Level) =>
    captured?.steps ? ((workers - now) * STARTING[level]) / captured.steps : 0;
  const taking = (level: Level) => (now > 0 ? 0 : HANDOVER[level]);
  // A training thread whose use of a core is not known may need all of one.
  const used = captured?.cpu?.used ?? null;
  const shared = used === null ? Math.max(1, cores - 1) : cores;
  const training = used === null ? 0 : Math.max(0, used * whole - (now > 0 ? 0 : cpu));
  const onCores = (level: Level) => (computing(level) + training) / shared;
  const first = (level: Level) => (batches === null ? 0 : time(level) / batches);
  const floorOf = (workers: number, level: Level, spare = 1) => {
    const rounds = batches === null ? 1 / workers : Math.ceil(batches / workers) / batches;
    const busiest = Math.max(
      step + first(level) + taking(level),
      spare * time(level) * rounds,
      onCores(level),
    );
    return busiest + starting(workers, level);
  };
  // Workers that compute share the cores; of those that wait, some compute at any time.
  const onAllCores = cpu > 0 ? Math.round((shared * all) / cpu) : MOST_WORKERS;
  const most = Math.max(least, Math.min(MOST_WORKERS, onAllCores, batches ?? MOST_WORKERS));
  const counts = Array.from({ length: most - least + 1 }, (_, i) => least + i);
  const best = smallest(counts.map((n) => floorOf(n, 'likely', SPARE)));
  const workers = counts.find((n) => floorOf(n, 'likely', SPARE) <= NEARLY * best) ?? least;
  // At worst nothing is gained: who sees that it does not help goes back.
  const worst = (level: Level) => (level === 'low' ? whole : Number.POSITIVE_INFINITY);
  return { workers, coresKnown: true, floor: (level) => Math.min(worst(level), floorOf(workers, level)) };
}

/**
 * What to advise if workers gain nothing: batches made in one piece if it is handing them over that costs too much, otherwise
 * less work for each.
 */
export function withoutWorkers(
  loader: CapturedLoader | null | undefined,
  per: number,
  cores: number | null,
  hasGpu: boolean,
): Use {
  if (per <= CHEAP * HANDOVER.likely) return use('batch-at-once', { taking: formatMs(ns(HANDOVER.likely)) });
  const limit = limitOf(loader) === 'io' ? 'io' : 'cpu';
  return use('faster-workers', { limit, hasGpu, now: 0, cores: cores ?? 1 });
}
/** A batch that takes longer than so many times its handing over is worth a worker, if a core is free for it. */
const CHEAP = 2;

/** Starts of worker processes, over the whole job. */
export interface Restarts {
  readonly count: number;
  /** To start them, and to wait for their end. */
  readonly each: Ns;
  /** How much longer the first batch after a start takes than others. A part of that is making it. */
  readonly first: Ns;
  /** Of both, per step. */
  readonly starting: Ns;
  readonly waiting: Ns;
  /** Each comes with a DataLoader of its own, so that nothing can be kept. */
  readonly anew: boolean;
}

/** Two may be training and validation, or a job that was resumed. */
const LEAST_STARTS = 3;
const NEARLY_ALL = 0.8;

/** Null: workers are not started again, or capture did not see it. */
export function restartsOf(captured: CapturedRank | undefined): Restarts | null {
  const { loader, steps = null } = captured ?? {};
  const { numWorkers = 0, starts = null, startMs = null, made = null } = loader ?? {};
  if (!loader || !numWorkers || starts === null || startMs === null || !steps || starts < LEAST_STARTS)
    return null;
  const each = fromMs(ms(startMs + (loader.persistentWorkers === true ? 0 : (loader.endMs ?? 0))));
  const first = fromMs(ms(Math.max(0, (loader.firstMs ?? 0) - (loader.laterMs ?? 0))));
  const perStep = (time: Ns) => ns((time * (starts - 1)) / steps);
  const anew = made !== null && made >= NEARLY_ALL * starts;
  return { count: starts, each, first, starting: perStep(each), waiting: perStep(first), anew };
}

/** Whether this many workers may feed samples more than once: those of an IterableDataset each yield everything. */
export function unsplitBy(workers: number, loader: CapturedLoader | null | undefined): Unsplit | null {
  if (workers <= 1 || loader?.iterable !== true || loader.splitByWorker === true) return null;
  return loader.splitByWorker === false ? 'surely' : 'maybe';
}

/** A thread that runs, or could run, most of the time does not wait for others. */
const MOSTLY = 0.6;
export function sleepsMostly(captured: CapturedRank | undefined): boolean {
  const cpu = captured?.cpu;
  return cpu?.threadRan != null && cpu.threadRan + (cpu.threadQueued ?? 0) < MOSTLY;
}
