import { parentPort } from 'node:worker_threads';
import { type FileResult, failedTask, runTask, type Want } from './task.js';

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

/** Smaller buffers are copied: the time to move many of them grows with the square of their number. */
const WORTH_MOVING = 1 << 14;

/** The large array buffers in a plain object, to move it to another thread without copying them. */
export function buffersOf(value: unknown): ArrayBuffer[] {
  const found = new Set<ArrayBuffer>();
  collect(value, found);
  return [...found];
}

function collect(value: unknown, found: Set<ArrayBuffer>): void {
  if (ArrayBuffer.isView(value)) {
    const { buffer } = value;
    if (buffer instanceof ArrayBuffer && buffer.byteLength >= WORTH_MOVING) found.add(buffer);
  } else if (Array.isArray(value)) {
    // If the first element is a number or a string, so are the others.
    if (typeof value[0] === 'object') for (const item of value) collect(item, found);
  } else if (typeof value === 'object' && value !== null) {
    for (const item of Object.values(value)) collect(item, found);
  }
}
