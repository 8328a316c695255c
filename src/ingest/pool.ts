import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { InputError, isSystemError } from '../base/input-error.js';
import { bytes, formatBytes, formatCount } from '../base/units.js';
import { addressSpaceLeft, softLimit } from '../readers/common/limits.js';
import type { FoundFile } from '../sources/discover.js';
import { shownAddress } from '../sources/remote/address.js';
import type { OnBytes } from './read-file.js';
import { type FileResult, runTask, type Want } from './task.js';
import type { FromWorker, ToWorker } from './worker.js';

export interface ReadOptions {
  /** Files to read at once, if the machine allows it. Default: one per core. With 1 all work stays in the calling thread. */
  readonly jobs?: number | undefined;
  readonly progress?: ProgressSink | undefined;
  /** Facts that an engine made: what to call each file instead, by its path. */
  readonly shownAs?: ReadonlyMap<string, string> | undefined;
  /** Facts to read instead of remote traces, by the path of the trace. The report names the trace. */
  readonly factsOf?: ReadonlyMap<string, string> | undefined;
}

/** `start` is called once, `update` while reading. Bytes are as stored, over all files. */
export interface ProgressSink {
  start(files: number, bytes: number): void;
  update(readBytes: number, doneFiles: number): void;
  /** A remark for the user, one sentence. */
  note?(text: string): void;
}

/** Of more traces than `MANY_TRACES` only the first `IN_FULL` are analyzed in full: memory must not grow with the ranks. */
const MANY_TRACES = 16;
const IN_FULL = 8;
/** Logs, telemetry, dumps and manifests, by name. A wrong guess costs only detail. */
const NO_TRACE =
  /\.(?:jsonl|txt|csv|log|raw|speedscope\.json)(?:\.(?:gz|zst))?$|(?:^|[/\\])(?:(?:ranks[/\\]rank_\d+|run)\.json$|nccl_trace_rank_)/i;

type ReadOne = (path: string, want: Want, onBytes: OnBytes) => Promise<FileResult>;

/** Reads every file. The largest come first, so that no long one is left at the end. Results are in the order of `files`. */
export async function readAll(
  files: readonly FoundFile[],
  want: Want,
  { jobs, progress }: ReadOptions,
): Promise<FileResult[]> {
  mustHaveAddressSpace();
  const totalBytes = files.reduce((n, f) => n + f.size, 0);
  progress?.start(files.length, totalBytes);
  const results = new Array<FileResult>(files.length);
  const readBytes = new Float64Array(files.length);
  let sum = 0;
  let done = 0;
  const update = (index: number, stored: number) => {
    sum += stored - readBytes[index]!;
    readBytes[index] = stored;
    progress?.update(sum, done);
  };
  const wantOf = wantPerFile(files, want);
  const read = async (index: number, readOne: ReadOne) => {
    const { path } = files[index]!;
    const result = await readOne(path, wantOf(path), (stored) => update(index, stored));
    results[index] = result;
    done++;
    update(index, result.storedBytes);
  };
  const order = files.map((_, i) => i).sort((a, b) => files[b]!.size - files[a]!.size);
  const isStdin = (i: number) => files[i]!.path === '-';
  // Only this thread can read standard input.
  for (const i of order.filter(isStdin)) await read(i, runTask);
  const queue = order.filter((i) => !isStdin(i)).values();
  const drain = async (readOne: ReadOne) => {
    for (const i of queue) await read(i, readOne);
  };
  /** Files of threads that could not start. */
  const left: number[] = [];
  const help = async (worker: TaskWorker) => {
    for (const i of queue) {
      const isDone = await read(i, (path, wanted, onBytes) => worker.run(path, wanted, onBytes)).then(
        () => true,
        hasNotStarted,
      );
      if (!isDone) return void left.push(i);
    }
  };
  const workers = startWorkers(threadsFor(files, totalBytes, jobs, progress) - 1);
  try {
    // This thread reads too, while the others are still starting.
    await Promise.all([drain(runTask), ...workers.map(help)]);
  } finally {
    await Promise.all(workers.map((w) => w.close()));
  }
  for (const i of left) await read(i, runTask);
  return results;
}

function threadsFor(
  files: readonly FoundFile[],
  totalBytes: number,
  asked: number | undefined,
  progress: ProgressSink | undefined,
): number {
  const wanted = Math.min(asked ?? (totalBytes < WORTH_A_THREAD ? 1 : availableParallelism()), files.length);
  if (wanted <= 1) return 1;
  const most = mostJobs();
  if (asked !== undefined && most.jobs < wanted)
    progress?.note?.(`${formatCount(most.jobs, 'file')} read at once instead of ${asked}: ${most.why}`);
  return Math.min(wanted, most.jobs);
}

/** False if the thread could not start for lack of memory or open files. Any other failure is thrown. */
function hasNotStarted(error: NodeJS.ErrnoException): false {
  if (isSystemError(error) || error.code === 'ERR_WORKER_INIT_FAILED') return false;
  throw error;
}

const withoutMemory = (path: string): FileResult => {
  const shown = shownAddress(path);
  const error = `cannot read ${shown}: not enough memory`;
  return { path: shown, storedBytes: 0, members: [], problems: [], error };
};

function wantPerFile(files: readonly FoundFile[], want: Want): (path: string) => Want {
  const traces = files.filter((f) => !NO_TRACE.test(f.path)).map((f) => f.path);
  if (traces.length <= MANY_TRACES || typeof want !== 'object' || !('facts' in want)) return () => want;
  const light: Want = { ...want, facts: { ...want.facts, light: true } };
  const inFull = new Set(traces.slice(0, IN_FULL));
  return (path) => (inFull.has(path) ? want : light);
}

/**
 * Threads that compile on themselves instead of on a helper thread. In Node 20 a helper that is still busy when its thread ends
 * aborts the process (`NodePlatform::ForIsolate`, seen in one of ten runs). The flag is read when a thread starts, so it is reset
 * once all are up. The bundle has worker.js next to this module. Tests of the sources run without threads.
 */
function startWorkers(count: number): readonly TaskWorker[] {
  if (count <= 0) return [];
  setFlagsFromString('--no-concurrent-recompilation');
  const script = new URL('./worker.js', import.meta.url);
  const threads = Array.from({ length: count }, () => new Worker(script));
  void Promise.allSettled(threads.map((thread) => once(thread, 'online'))).then(() =>
    setFlagsFromString('--concurrent-recompilation'),
  );
  return threads.map((thread) => new TaskWorker(thread));
}

/** A thread that runs one task at a time. */
class TaskWorker {
  readonly #worker: Worker;

  constructor(worker: Worker) {
    this.#worker = worker;
  }

  run(path: string, want: Want, onBytes: OnBytes): Promise<FileResult> {
    return new Promise((resolve, reject) => {
      this.#worker.removeAllListeners('message').removeAllListeners('error');
      this.#worker.once('error', (error: NodeJS.ErrnoException) => {
        // The heap of the thread is full; the process lives on.
        if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') resolve(withoutMemory(path));
        else reject(error);
      });
      this.#worker.on('message', (message: FromWorker) => {
        if (message.type === 'bytes') onBytes(message.stored);
        else resolve(message.result);
      });
      this.#worker.postMessage({ path, want } satisfies ToWorker);
    });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}

/** What this machine allows, as far as it can be known. */
export interface Machine {
  readonly cores: number;
  readonly freeMemory: number;
  /** Under `ulimit -v`. */
  readonly addressSpace: number;
  readonly openFilesLimit: number;
  readonly openFiles: number;
}

/** Threads may wait for a slow disk. */
const PER_CORE = 2;
/** Of one more thread, measured: 15 MB at rest, up to 200 with a large trace. */
const MEMORY = 256e6;
/** 600 to 850 MB of a thread; V8 ends the process when it cannot have them. */
const ADDRESS_SPACE = 1.5e9;
/** A thread keeps 4 open, the file it reads, and about ten while it loads its modules. */
const OPEN_FILES = 16;

/** With less than this V8 aborted in most of 16 tries (ulimit -v below 1.4 GB); nothing can catch that. */
const LEAST_ADDRESS_SPACE = 200e6;

/** Throws InputError where reading would end the process. */
export function mustHaveAddressSpace(left: number = addressSpaceLeft()): void {
  if (left >= LEAST_ADDRESS_SPACE) return;
  const [has, needs] = [Math.max(0, left), LEAST_ADDRESS_SPACE].map((n) => formatBytes(bytes(n)));
  throw new InputError(
    `ulimit -v leaves ${has} of address space; reading needs ${needs}. Raise it and try again`,
  );
}

/** How many files can be read at once, and what the limit is. */
export function mostJobs(machine: Machine = thisMachine()): { readonly jobs: number; readonly why: string } {
  const { cores, freeMemory, addressSpace, openFilesLimit, openFiles } = machine;
  const limits = [
    { jobs: cores * PER_CORE, why: `this machine has ${formatCount(cores, 'core')}` },
    { jobs: Math.floor(freeMemory / MEMORY), why: `${formatBytes(bytes(freeMemory))} of memory are free` },
    {
      jobs: Math.floor(addressSpace / ADDRESS_SPACE),
      why: `ulimit -v leaves ${formatBytes(bytes(Math.max(0, addressSpace)))}`,
    },
    {
      jobs: Math.floor((openFilesLimit - openFiles) / OPEN_FILES),
      why: `ulimit -n is ${openFilesLimit}`,
    },
  ];
  const lowest = limits.reduce((a, b) => (b.jobs < a.jobs ? b : a));
  return { jobs: Math.max(1, lowest.jobs), why: lowest.why };
}

/** Starting a thread takes as long as reading this many stored bytes. */
const WORTH_A_THREAD = 4e6;

function thisMachine(): Machine {
  return {
    cores: availableParallelism(),
    freeMemory: process.availableMemory(),
    addressSpace: addressSpaceLeft(),
    openFilesLimit: softLimit('Max open files'),
    openFiles: openFilesNow(),
  };
}

function openFilesNow(): number {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return 0;
  }
}
