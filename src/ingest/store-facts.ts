import { randomBytes } from 'node:crypto';
import fs, { copyFileSync, createWriteStream, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip, gzipSync } from 'node:zlib';
import { describeSystemError, InputError, OutputError } from '../base/input-error.js';
import { makeFolders } from '../base/make-folders.js';
import type { StepRange } from '../facts/step-facts.js';
import { factsBytes } from '../readers/facts/format.js';
import { visitMembers } from '../sources/open.js';
import type { Input, TraceInput } from './input.js';
import { partsOf } from './stored-input.js';

/** Where facts go, and of what. */
export interface StoreOptions {
  readonly steps: StepRange | null;
  readonly folder: string;
  /** Names in the folder are paths below this one. */
  readonly root: string;
  /** Version of whyslow. */
  readonly by: string;
}

export interface WrittenFile {
  readonly path: string;
  /** What it was made of. */
  readonly from: string;
  readonly kind: Input['kind'];
  readonly bytes: number;
}

/** A rank's facts must cross a network by the thousand. Beyond this the detail is left out. */
export const MAX_FACTS_BYTES = 2e6;

export function writeFacts(member: TraceInput, { steps, folder, root, by }: StoreOptions): WrittenFile {
  const parts = partsOf(member, steps);
  const whole = gzipSync(factsBytes(by, parts));
  const packed = whole.length > MAX_FACTS_BYTES ? gzipSync(factsBytes(by, parts.slice(0, 1))) : whole;
  // Facts of facts keep their name.
  const path = join(folder, nameIn(member.path, root).replace(/(?:\.facts)?$/, '.facts'));
  atomically(path, (temporary) => writeFileSync(temporary, packed));
  return { path, from: member.path, kind: member.kind, bytes: packed.length };
}

/** Logs, manifests and telemetry are small and are copied as they are. */
export async function copyMember(member: Input, { folder, root }: StoreOptions): Promise<WrittenFile> {
  const { file, path: from, kind } = member;
  const isWholeFile = file === from;
  const path = join(folder, nameIn(from, root) + (isWholeFile ? '' : '.gz'));
  if (isWholeFile) atomically(path, (temporary) => copyFileSync(file, temporary));
  else await unpackMember(member, path);
  return { path, from, kind, bytes: statSync(path).size };
}

/** A member of an archive, or standard input that has been read: only the former can be read again. */
async function unpackMember({ file, path: from }: Input, path: string): Promise<void> {
  if (file === '-') throw new InputError('standard input can hold a trace only; pass the path of the file');
  const temporary = temporaryName(path);
  try {
    await visitMembers(file, async (member) => {
      if (member.path !== from) return;
      await pipeline(member.stream.chunks, createGzip(), createWriteStream(temporary));
    });
    renameSync(temporary, path);
  } catch (error) {
    throw notWritten(path, temporary, error);
  }
}

/** Readers never see half of a file. */
export function atomically(path: string, write: (temporary: string) => void): void {
  const temporary = temporaryName(path);
  try {
    write(temporary);
    renameSync(temporary, path);
  } catch (error) {
    throw notWritten(path, temporary, error);
  }
}

function notWritten(path: string, temporary: string, error: unknown): InputError {
  rmSync(temporary, { force: true });
  if (error instanceof InputError) return error; // what it is made of cannot be read
  return new OutputError(`cannot write ${path}: ${describeSystemError(error)}`);
}

function temporaryName(path: string): string {
  try {
    makeFolders(dirname(path), fs);
  } catch (error) {
    throw new OutputError(`cannot make the folder ${dirname(path)}: ${describeSystemError(error)}`);
  }
  // Discovery leaves such names out. Two tasks may write the same file.
  const name = `.${basename(path).slice(0, 100)}.partial-${randomBytes(6).toString('hex')}`;
  return join(dirname(path), name);
}

/** Members of archives become files of a folder. Nothing leads out of it: an archive may hold any name. */
export function nameIn(path: string, root: string): string {
  const below = root !== '' && path.startsWith(root) ? path.slice(root.length) : path;
  const parts = below.split(/[\\/!]/).filter((part) => part !== '' && part !== '.' && part !== '..');
  return join(...parts.map((part) => part.replace(/[\0:]/g, '_'))) || 'trace';
}

/** The folder that all paths are below, as they are written. */
export function commonFolder(paths: readonly string[]): string {
  const folderOf = (path: string) =>
    path.slice(0, Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
  const folders = paths.map(folderOf);
  return folders.reduce((common, folder) => {
    let length = 0;
    while (length < common.length && common[length] === folder[length]) length++;
    return folderOf(common.slice(0, length));
  }, folders[0] ?? '');
}
