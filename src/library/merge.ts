import type { ReadOptions } from '../ingest/pool.js';
import { mustBeFree } from '../rewrite/check-out.js';
import { type Merged, type MergeOptions, mergeRun } from '../rewrite/merge.js';
import { readDiagnosis } from './diagnose.js';

/** Writes all ranks of a run as one Chrome trace. Throws InputError when there is nothing to merge. */
export async function merge(
  paths: string | readonly string[],
  { jobs, ranks = null, run = null, ...options }: MergeOptions & Pick<ReadOptions, 'jobs'> & MergeSelection,
): Promise<Merged> {
  mustBeFree(options.out, options.force);
  const diagnosis = await readDiagnosis(paths, { jobs, ranks, run, progress: options.progress });
  return mergeRun(diagnosis, options);
}

interface MergeSelection {
  readonly ranks?: readonly number[] | null;
  readonly run?: string | null;
}
