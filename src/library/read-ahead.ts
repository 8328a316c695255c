import { mayInflateAside, WORTH_INFLATING_ASIDE } from '../ingest/jobs.js';
import { inflateEarly } from '../sources/inflate-early.js';

/**
 * Call before loading the code that reads the paths: a thread starts to inflate a single large file meanwhile. Small itself,
 * and without effect where it would not pay.
 */
export function readAhead(paths: readonly string[], jobs: number | undefined): void {
  if (paths.length === 1 && mayInflateAside(jobs)) inflateEarly(paths[0]!, WORTH_INFLATING_ASIDE);
}
