import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import type { FoundFile } from '../sources/discover.js';
import { runTask, type TaskResult, type Want } from './task.js';
import type { FromWorker, ToWorker } from './worker.js';

export interface ReadOptions {
  readonly want: Want;
  /** Files read at once. Default: one a core. With 1 nothing leaves the calling thread. */
  readonly jobs?: number | undefined;
  /** Stored bytes read so far, over all files. */
  readonly onProgress?: (readBytes: number, doneFiles: number) => void;
}

/** Of more traces than this, only the first few are looked at in full: memory must not grow with the ranks. */
const MANY_FILES = 16;
const IN_FULL = 8;
/** By name; wrong guesses cost nothing but detail. Logs, telemetry and manifests lie beside the traces of a capture. */
const NO_TRACE = /\.(?:jsonl|txt|csv|log)(?:\.(?:gz|zst))?$|(?:^|[/\\])(?:ranks[/\\]rank_\d+|run)\.json$/i;
/** Starting a thread takes as long as reading this many stored bytes. */
const WORTH_A_THREAD = 4e6;

/** Reads files, one a task, the largest first so that the last one to finish is short. Results are in file order. */
export async function readAll(files: readonly FoundFile[], options: ReadOptions): Promise<TaskResult[]> {
  const progress = new Progress(files.length, options.onProgress ?? (() => {}));
  const read = async (
    index: number,
    how: (path: string, onBytes: (n: number) => void) => Promise<TaskResult>,
  ) => {
    progress.done(index, await how(files[index]!.path, (n) => progress.report(index, n)));
  };
  const { want } = options;
  const traces = files.filter((f) => !NO_TRACE.test(f.path));
  const lighter =
    traces.length > MANY_FILES && typeof want === 'object' ? { facts: { ...want.facts, light: true } } : want;
  const full = new Set(traces.slice(0, IN_FULL).map((f) => f.path));
  const wantOf = (path: string) => (full.has(path) ? want : lighter);
  const here = (path: string, onBytes: (n: number) => void) => runTask(path, wantOf(path), onBytes);
  const order = files.map((_, i) => i).sort((a, b) => files[b]!.size - files[a]!.size);
  const isStdin = (i: number) => files[i]!.path === '-'; // it belongs to this thread
  for (const i of order.filter(isStdin)) await read(i, here);
  const queue = order.filter((i) => !isStdin(i)).values();
  const workers = startWorkers(Math.min(jobsFor(files, options), files.length) - 1);
  try {
    const drain = async (how: (path: string, onBytes: (n: number) => void) => Promise<TaskResult>) => {
      for (const i of queue) await read(i, how);
    };
    // This thread takes its share: it is there already, while the others still load.
    const threads = workers.map((w) => drain((path, onBytes) => w.run(path, wantOf(path), onBytes)));
    await Promise.all([drain(here), ...threads]);
  } finally {
    await Promise.all(workers.map((w) => w.close()));
  }
  return progress.results;
}

function jobsFor(files: readonly FoundFile[], options: ReadOptions): number {
  const size = files.reduce((n, f) => n + f.size, 0);
  return options.jobs ?? (size < WORTH_A_THREAD ? 1 : availableParallelism());
}

/**
 * Threads that optimise their code by themselves and not on a helper thread: in Node 20 a helper that is still at work
 * when its thread ends aborts the process (`NodePlatform::ForIsolate`, seen once in ten runs). The switch is read when a
 * thread starts, so it is set only until they are up.
 */
function startWorkers(count: number): readonly TaskWorker[] {
  if (count <= 0) return [];
  setFlagsFromString('--no-concurrent-recompilation');
  const workers = Array.from({ length: count }, () => new TaskWorker());
  void Promise.allSettled(workers.map((w) => w.online)).then(() =>
    setFlagsFromString('--concurrent-recompilation'),
  );
  return workers;
}

/** A thread that runs one task at a time. */
class TaskWorker {
  // Beside this module when bundled; tests of the sources run without threads.
  readonly #worker = new Worker(new URL('./worker.js', import.meta.url));
  readonly online: Promise<unknown> = once(this.#worker, 'online');

  run(path: string, want: Want, onBytes: (stored: number) => void): Promise<TaskResult> {
    return new Promise((resolve, reject) => {
      this.#worker.removeAllListeners('message').removeAllListeners('error');
      this.#worker.once('error', reject);
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

class Progress {
  readonly results: TaskResult[];
  readonly #read: Float64Array;
  readonly #onProgress: NonNullable<ReadOptions['onProgress']>;
  #finished = 0;

  constructor(files: number, onProgress: NonNullable<ReadOptions['onProgress']>) {
    this.results = new Array<TaskResult>(files);
    this.#read = new Float64Array(files);
    this.#onProgress = onProgress;
  }

  report(index: number, stored: number): void {
    this.#read[index] = stored;
    this.#onProgress(
      this.#read.reduce((a, b) => a + b, 0),
      this.#finished,
    );
  }

  done(index: number, result: TaskResult): void {
    this.results[index] = result;
    this.#finished++;
    this.report(index, result.storedBytes);
  }
}
