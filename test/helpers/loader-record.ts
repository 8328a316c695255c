import type { CapturedLoader } from '../../src/diagnosis/run-facts.js';

/** A DataLoader of which only what is given is known. */
export const loaderRecord = (known: Partial<CapturedLoader>): CapturedLoader => ({
  numWorkers: null,
  prefetchFactor: null,
  pinMemory: null,
  persistentWorkers: null,
  batchSize: null,
  iterable: null,
  splitByWorker: null,
  framework: null,
  fetchMs: null,
  fetchRan: null,
  fetchQueued: null,
  ready: null,
  foundNone: null,
  workersRan: null,
  workersQueued: null,
  ...known,
});
