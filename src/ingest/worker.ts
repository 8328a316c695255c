import { parentPort } from 'node:worker_threads';
import { type FileResult, failedTask, runTask, type Want } from './task.js';
import { buffersOf } from './transfer.js';

/** Messages between the pool and its workers. */
export type ToWorker = { readonly path: string; readonly want: Want };
export type FromWorker =
  | { readonly type: 'bytes'; readonly stored: number }
  | { readonly type: 'done'; readonly result: FileResult };

const REPORT_EVERY_MS = 100;

parentPort?.on('message', async ({ path, want }: ToWorker) => {
  let last = 0;
  const result = await runTask(path, want, (stored) => {
    const now = performance.now();
    if (now - last < REPORT_EVERY_MS) return;
    last = now;
    parentPort?.postMessage({ type: 'bytes', stored } satisfies FromWorker);
  });
  try {
    parentPort?.postMessage({ type: 'done', result } satisfies FromWorker, buffersOf(result));
  } catch (error) {
    // What cannot be cloned must not cost the other files.
    parentPort?.postMessage({ type: 'done', result: failedTask(path, error) } satisfies FromWorker);
  }
});
