import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';

/**
 * Starts threads that compile on themselves instead of on a helper thread. In Node 20 a helper that is still busy when its
 * thread ends aborts the process (`NodePlatform::ForIsolate`, seen in one of ten runs). The flag is read when a thread
 * starts, so it is reset once all are up.
 */
export function startThreads(script: URL, count: number): readonly Worker[] {
  if (count <= 0) return [];
  setFlagsFromString('--no-concurrent-recompilation');
  const threads = Array.from({ length: count }, () => new Worker(script));
  void Promise.allSettled(threads.map((thread) => once(thread, 'online'))).then(() =>
    setFlagsFromString('--concurrent-recompilation'),
  );
  return threads;
}
