import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { FoundFile } from '../sources/discover.js';
import { runTask, type TaskResult, type Want } from './task.js';
import type { FromWorker, ToWorker } from './worker.js';

export interface ReadOptions {
  readonly want: Want;
  /** Files read at once. Default: one a core. With 1 nothing leaves the calling thread. */
  readonly jobs?: number;
  /** Stored bytes read so far, over all files. */
  readonly onProgress?: (readBytes: number, doneFiles: number) => void;
}

/** Starting threads takes as long as reading this many stored bytes. */
const WORTH_A_THREAD = 4e6;

/** Reads files, one a task, the largest first so that the last one to finish is short. Results are in file order. */
export async function readAll(files: readonly FoundFile[], options: ReadOptions): Promise<TaskResult[]> {
  const size = files.reduce((n, f) => n + f.size, 0);
  const jobs = Math.min(options.jobs ?? (size < WORTH_A_THREAD ? 1 : availableParallelism()), files.length);
  const results = new Array<TaskResult>(files.length);
  const read = new Float64Array(files.length);
  let done = 0;
  const report = (index: number, stored: number) => {
    read[index] = stored;
    options.onProgress?.(
      read.reduce((a, b) => a + b, 0),
      done,
    );
  };
  const finish = (index: number, result: TaskResult) => {
    results[index] = result;
    done++;
    report(index, result.storedBytes);
  };
  const order = files.map((_, i) => i).sort((a, b) => files[b]!.size - files[a]!.size);
  // Standard input belongs to this thread.
  const here = jobs < 2 ? order : order.filter((i) => files[i]!.path === '-');
  const elsewhere = order.filter((i) => !here.includes(i));
  const workers = Array.from({ length: Math.min(jobs, elsewhere.length) }, () => new TaskWorker());
  try {
    const queue = elsewhere.values();
    await Promise.all([
      ...workers.map(async (worker) => {
        for (const i of queue)
          finish(i, await worker.run(i, files[i]!.path, options.want, (n) => report(i, n)));
      }),
      (async () => {
        for (const i of here) finish(i, await runTask(files[i]!.path, options.want, (n) => report(i, n)));
      })(),
    ]);
  } finally {
    await Promise.all(workers.map((w) => w.close()));
  }
  return results;
}

/** A thread that runs one task at a time. */
class TaskWorker {
  readonly #worker = new Worker(new URL('./worker.js', import.meta.url));

  run(id: number, path: string, want: Want, onBytes: (stored: number) => void): Promise<TaskResult> {
    return new Promise((resolve, reject) => {
      const onMessage = (message: FromWorker) => {
        if (message.id !== id) return;
        if (message.type === 'bytes') return onBytes(message.stored);
        this.#worker.off('message', onMessage);
        this.#worker.off('error', reject);
        resolve(message.result);
      };
      this.#worker.on('message', onMessage);
      this.#worker.once('error', reject);
      this.#worker.postMessage({ id, path, want } satisfies ToWorker);
    });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
