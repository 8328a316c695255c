import { threadsForOne, WORTH_OWN_THREADS } from '../ingest/jobs.js';
import { openBlocksEarly } from '../ingest/open-blocks.js';
import { inflateEarly } from '../sources/inflate-early.js';

/**
 * Call before loading the code that reads the paths: meanwhile threads start to read a single large file, or one to inflate it.
 * Small itself, and without effect where it would not pay.
 */
export function readAhead(paths: readonly string[], jobs: number | undefined): void {
  const threads = paths.length === 1 ? threadsForOne(jobs) : 1;
  if (threads < 2) return;
  if (!openBlocksEarly(paths[0]!, threads)) inflateEarly(paths[0]!, WORTH_OWN_THREADS);
}
