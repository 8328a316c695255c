import type { GpuIdentity } from './telemetry.js';

/**
 * What capture records about a run in addition to its measurements: `run.json` and `ranks/rank_<r>.json`. The reader checks every
 * field: what is missing or of the wrong type is null or left out, and texts and lists have a bounded length.
 */
export type Manifest = RunManifest | RankManifest;

export interface RunManifest {
  readonly of: 'run';
  readonly run: string | null;
  readonly worldSize: number | null;
  /** Axes of the device mesh, outermost first; null where there is no mesh. */
  readonly mesh: readonly MeshAxis[] | null;
  /** Nanoseconds since 1970, exact to about 256 ns (it was a JSON number). */
  readonly startedNs: number | null;
  readonly versions: Readonly<Record<string, string>>;
  readonly command: readonly string[];
  /** The words that start the whole job again. Null: not known. */
  readonly launch: readonly string[] | null;
}

export interface MeshAxis {
  readonly name: string;
  readonly size: number;
}

export interface RankManifest {
  readonly of: 'rank';
  readonly run: string | null;
  readonly rank: number | null;
  readonly localRank: number | null;
  readonly host: string | null;
  readonly pid: number | null;
  /** When its process started, ns since 1970. Null: unknown. */
  readonly processStartedNs: number | null;
  /** The words that start this training alone. Null: not known. */
  readonly launch: readonly string[] | null;
  /** Null for a process without a GPU. The index is the one that the process uses. */
  readonly device: GpuIdentity | null;
  /** Position in the mesh by name of the axis; null where there is none. */
  readonly coordinates: Readonly<Record<string, number>> | null;
  /** In the order they were taken. Of very many, only the first and the last are kept. */
  readonly anchors: readonly ClockAnchor[];
  /** How many records capture dropped, by reason. */
  readonly dropped: Readonly<Record<string, number>>;
  /** Which lines of the job held the training thread. Null: its stack was not sampled. */
  readonly stacks: StackSamples | null;
  /** Profiler windows of the process, in order. Of very many, only the newest are listed. */
  readonly windows: readonly RecordedWindow[];
  /** Cores that the process may use. Null: unknown. */
  readonly cores: ProcessCores | null;
  /** Processor time that the process got. Null: unknown. */
  readonly cpu: CpuUse | null;
  /** The DataLoader that the job waited for longest. Null: none was seen. */
  readonly loader: LoaderRecord | null;
  /** Steps that it made. Null: unknown. */
  readonly steps: number | null;
  /** Trained parameters by number format: `float32`. Empty: unknown. */
  readonly parameters: Readonly<Record<string, number>>;
  /** Collectives of a few numbers each, in recorded steps. Null: there were none of any size, or they are unknown. */
  readonly smallCollectives: SmallCollectives | null;
}

/** Sums over recorded steps with collectives. */
export interface SmallCollectives {
  readonly steps: number;
  readonly calls: number;
  readonly small: number;
  /** In the small ones, waiting for other ranks included. */
  readonly smallMs: number;
  /** Those of at most 64 KiB, the small ones among them. */
  readonly short: number;
  readonly shortMs: number;
}

export interface RecordedWindow {
  readonly firstStep: number;
  /** Nothing of the profiler stayed attached to the GPU. Null: unknown, or the GPU was not recorded. */
  readonly detached: boolean | null;
  /** How much longer steps take since then, as a fraction, if they certainly do. Null: they do not, or nobody knows. */
  readonly slower: { readonly low: number; readonly high: number } | null;
}

export interface StackSamples {
  /** Of all lines, also those that are not listed. */
  readonly samples: number;
  /** Most samples first. */
  readonly lines: readonly SampledLine[];
  /** Lines of the job in which its other Python threads were, most samples first. */
  readonly background: readonly BackgroundLine[];
}

export interface BackgroundLine {
  readonly thread: string;
  readonly file: string;
  readonly line: number;
  readonly function: string;
  readonly samples: number;
}

/** A line of the job's own code. Time in libraries that it calls counts for it. */
export interface SampledLine {
  /** Empty: no frame of the job's own was on the stack. */
  readonly file: string;
  readonly line: number;
  readonly function: string;
  /** Empty: the file could not be read. */
  readonly source: string;
  readonly samples: number;
  /** Library functions that ran there, most samples first. */
  readonly calls: readonly string[];
}

export interface ProcessCores {
  /** Cores that the scheduler may run it on. */
  readonly allowed: number;
  /** Cores' worth of time that its container may use. Null: no limit. */
  readonly quota: number | null;
  /** Processes of the job on the same machine, which share the cores. */
  readonly ranks: number;
}

/** Processor time of a process after its first step. Null: unknown. */
export interface CpuUse {
  /** Cores' worth of time that it used, and threads that were ready to run and had to wait for a core: means over time. */
  readonly used: number;
  readonly queued: number | null;
  /** Threads that an operator of torch runs on. */
  readonly threads: number;
  /** Which cores it may run on, as text: equal for processes that share them. */
  readonly affinity: string | null;
  /** The training thread: share of time in which it waited for a core. */
  readonly threadQueued: number | null;
  /** The training thread: share of time in which it ran. In the rest it slept. */
  readonly threadRan: number | null;
  /** Who set the number of threads. `code`: the script, with torch.set_num_threads. */
  readonly threadsBy: 'code' | 'environment' | 'default' | null;
  /** Other Python threads of the job that run, busiest first: shares of a core. */
  readonly background: readonly { readonly thread: string; readonly ran: number }[];
  /** The share of the quota's periods in which the container had used it up. Null: no quota. */
  readonly throttled: number | null;
}

/** A DataLoader, as capture saw it. Null: unknown. Shares are of time, 0 to 1. */
export interface LoaderRecord {
  readonly numWorkers: number | null;
  readonly prefetchFactor: number | null;
  readonly pinMemory: boolean | null;
  readonly persistentWorkers: boolean | null;
  readonly batchSize: number | null;
  /** The dataset is an IterableDataset. */
  readonly iterable: boolean | null;
  /** Each worker of an IterableDataset yields its own part. False: nothing in the dataset asks which worker it is in. */
  readonly splitByWorker: boolean | null;
  /** Whose training loop asks for batches: `transformers`, `lightning`. */
  readonly framework: string | null;
  /** Mean time of a request for a batch, ms, and the shares in which the thread ran and in which it waited for a core. */
  readonly fetchMs: number | null;
  readonly fetchRan: number | null;
  readonly fetchQueued: number | null;
  /** Mean number of batches that were ready when one was asked for, and the share of requests that found none. */
  readonly ready: number | null;
  readonly foundNone: number | null;
  /** Batches of an epoch. */
  readonly batches: number | null;
  /** How often workers were started (or an iterator made), DataLoader objects that did it, and how long that took, ms. */
  readonly starts: number | null;
  readonly made: number | null;
  readonly startMs: number | null;
  /** Mean time of the first request of an iterator and of later ones, ms. */
  readonly firstMs: number | null;
  readonly laterMs: number | null;
  /** Mean time of the request that finds an epoch at its end, ms. Workers that do not persist end in it. */
  readonly endMs: number | null;
  /** Shares of time in which the workers ran, and in which they waited for a core. */
  readonly workersRan: number | null;
  readonly workersQueued: number | null;
}

/** One instant on two clocks. */
export interface ClockAnchor {
  /** `start`, `flush`, `end`. */
  readonly at: string;
  /** Nanoseconds since 1970, exact to about 256 ns. */
  readonly wallNs: number;
  /** CLOCK_MONOTONIC: the same for all processes of a machine. Null if unknown. */
  readonly monotonicNs: number | null;
}
