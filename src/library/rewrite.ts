import { statSync } from 'node:fs';
import { InputError } from '../base/input-error.js';
import { mustBeFree, mustNotBeInput } from '../rewrite/chrome-file.js';
import { type Merged, type MergeOptions, mergeRun } from '../rewrite/merge.js';
import { type Slimmed, type SlimOptions, slimTrace } from '../rewrite/slim.js';
import { type RunSelection, readDiagnosis } from './diagnose.js';

/** Writes a part of one trace as a Chrome trace. Throws InputError when that is not possible. */
export async function slim(file: string, options: SlimOptions): Promise<Slimmed> {
  mustBeReadTwice(file);
  mustBeFree(options.out, options.force);
  mustNotBeInput(options.out, [file]);
  return slimTrace(file, options);
}

/** What to keep depends on what comes later in the file, so it is read more than once. */
function mustBeReadTwice(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (file === '-' || stats?.isFIFO())
    throw new InputError(
      `${file === '-' ? 'standard input' : file} can be read only once: save it as a file first`,
    );
  if (stats?.isDirectory()) throw new InputError(`${file} is a directory: name one trace in it`);
}

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
