import { mustBeFree } from '../rewrite/check-out.js';
import { type Merged, type MergeOptions, mergeRun } from '../rewrite/merge.js';
import { type RunSelection, readDiagnosis } from './diagnose.js';

/** Writes all ranks of a run as one Chrome trace. Throws InputError when there is nothing to merge. */
export async function merge(
  paths: string | readonly string[],
  options: MergeOptions & RunSelection,
): Promise<Merged> {
  mustBeFree(options.out, options.force);
  // Clocks are aligned by all steps, whichever are written.
  const diagnosis = await readDiagnosis(paths, { ...options, steps: null });
  return mergeRun(diagnosis, options);
}
