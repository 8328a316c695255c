import { statSync } from 'node:fs';
import { InputError } from '../base/input-error.js';
import { mustBeFree, mustNotBeInput } from '../rewrite/check-out.js';
import { type Slimmed, type SlimOptions, slimTrace } from '../rewrite/slim.js';

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
