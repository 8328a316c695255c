import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { InputError } from '../base/input-error.js';

/** Before anything is read, which may take minutes: throws InputError when the result cannot go there. */
export function mustBeFree(out: string, force: boolean): void {
  const there = statSync(out, { throwIfNoEntry: false });
  if (there?.isDirectory()) throw new InputError(`${out} is a folder: name a file in it`);
  if (there && !force) throw new InputError(`${out} exists; --force replaces it`);
  if (!statSync(dirname(out), { throwIfNoEntry: false })?.isDirectory())
    throw new InputError(`cannot write ${out}: there is no folder ${dirname(out)}`);
}

/** Throws InputError when the result would replace what it is made of: `--force` is for an earlier result. */
export function mustNotBeInput(out: string, files: readonly string[]): void {
  const there = statSync(out, { throwIfNoEntry: false });
  if (!there) return;
  const isSame = (file: string) => {
    const { dev, ino } = statSync(file, { throwIfNoEntry: false }) ?? {};
    return dev === there.dev && ino === there.ino;
  };
  if (files.some(isSame)) throw new InputError(`${out} is one of the files to read: choose another name`);
}
