import { threadsForOne } from '../ingest/jobs.js';
import { openBlocksEarly } from '../ingest/open-blocks.js';

/**
 * Call before loading the code that reads the paths: meanwhile threads start to read a single large file that has blocks.
 * Small itself, and without effect where it would not pay.
 */
export function readAhead(paths: readonly string[], jobs: number | undefined): void {
  const threads = paths.length === 1 ? threadsForOne(jobs) : 1;
  openBlocksEarly(paths[0]!, threads);
}
