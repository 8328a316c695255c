import type { CapturedLoader, CapturedRank } from '../../diagnosis/run-facts.js';
import type { WorkerUse } from '../../telemetry/processes/worker-use.js';
import type { Finding } from './finding.js';
import type { Level, Levels } from './rule.js';

/** What keeps a loader from being faster. `cores`: more threads are ready to run than there are cores. */
export type LoaderLimit = 'cpu' | 'io' | 'cores' | 'handover' | 'unknown';

/** A thread that sleeps this much of its time waits for a disk or a network. */
const SLEEPS = 0.5;
/** Of its time, a thread waits this much for a core only where cores are short. */
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
 * not wait. Never more workers than cores, of which the training process needs one, unless its workers mostly sleep.
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

/** Arguments of a DataLoader. False: leave it as it is. */
interface LoaderArguments {
  readonly num_workers?: number;
  readonly prefetch_factor?: number;
  readonly persistent_workers?: boolean;
  readonly pin_memory?: boolean;
}

const CODE_COLUMNS = 72;

/** What a framework calls the DataLoader's arguments. Null: it has no such setting. */
interface Spelling {
  readonly call: string;
  readonly argument: (name: keyof LoaderArguments) => string | null;
}
const PLAIN: Spelling = { call: 'DataLoader', argument: (name) => name };
/** By what capture calls the framework. */
const SPELLINGS: Readonly<Record<string, Spelling>> = {
  transformers: { call: 'TrainingArguments', argument: (name) => `dataloader_${name}` },
  skorch: { call: 'NeuralNet', argument: (name) => `iterator_train__${name}` },
  // Keras wraps a PyDataset in a DataLoader of its own. By default the workers would be threads.
  keras: {
    call: 'super().__init__',
    argument: (name) => (name === 'num_workers' ? 'use_multiprocessing=True, workers' : null),
  },
  ultralytics: { call: 'model.train', argument: (name) => (name === 'num_workers' ? 'workers' : null) },
};

const WHERE: Readonly<Record<string, string>> = {
  lightning: 'in train_dataloader()',
  keras: 'in __init__ of the PyDataset',
};

/** The change in the words of the user's framework. */
export function loaderCode(args: LoaderArguments, loader: CapturedLoader | null | undefined): string {
  const framework = loader?.framework ?? '';
  const { call, argument } = (Object.hasOwn(SPELLINGS, framework) && SPELLINGS[framework]) || PLAIN;
  const named = (Object.keys(args) as (keyof LoaderArguments)[]).flatMap((name) => {
    const [value, spelt] = [args[name], argument(name)];
    if (value === false || spelt === null) return [];
    return [`${spelt}=${value === true ? 'True' : value}`];
  });
  const line = `${call}(..., ${named.join(', ')})`;
  const code = line.length <= CODE_COLUMNS ? line : `${call}(...,\n    ${named.join(',\n    ')})`;
  return Object.hasOwn(WHERE, framework) ? `# ${WHERE[framework]}\n${code}` : code;
}

/** Whether this many workers may feed samples more than once: those of an IterableDataset each yield everything. */
export const mayDuplicate = (workers: number, loader: CapturedLoader | null | undefined): boolean =>
  workers > 1 && loader?.iterable === true && loader.splitByWorker !== true;

/** Adds the warning about duplicates, and how to avoid them. */
export function withoutDuplicates(
  fix: Finding['fix'],
  workers: number,
  loader: CapturedLoader | null | undefined,
): Finding['fix'] {
  if (!mayDuplicate(workers, loader)) return fix;
  const seen =
    loader?.splitByWorker === false
      ? 'nothing in it calls get_worker_info()'
      : 'it may not split its data by worker';
  return {
    text: `First split the data by worker: this is an IterableDataset and ${seen}, so each of several workers would yield all of it, and the model would see every sample more than once. One worker is safe as it is. ${fix.text}`,
    code: `info = torch.utils.data.get_worker_info()        # in __iter__\nsamples = itertools.islice(samples, info.id, None, info.num_workers)\n${fix.code}`,
  };
}
