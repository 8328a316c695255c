import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { OutputError } from '../base/input-error.js';
import { type Problem, ProblemLog } from '../base/problem.js';
import { discoverFiles } from '../sources/discover.js';
import { type ReadOptions, readAll } from './pool.js';
import { nothingReadable, sift } from './read-run.js';
import { atomically, commonFolder, type StoreOptions, type WrittenFile } from './store-facts.js';

export interface StoredRun {
  readonly written: readonly WrittenFile[];
  /** Files in searched directories that whyslow does not recognize. */
  readonly ignored: readonly string[];
  readonly problems: readonly Problem[];
}

/** Every `of`-th file, from `index` on. */
export interface Share {
  readonly index: number;
  readonly of: number;
}

export interface StoreRunOptions extends Omit<StoreOptions, 'root'> {
  readonly root: string | undefined;
  /** Only these of all files. */
  readonly share: Share | undefined;
  /** The paths were found in a directory, by a program that divides them. What is not recognized is no failure then. */
  readonly areFound: boolean;
}

/** Writes facts of everything found under the paths. Throws InputError when there is nothing to read or no room for them. */
export async function storeInputs(
  paths: readonly string[],
  { root, share, areFound, ...store }: StoreRunOptions,
  options: ReadOptions,
): Promise<StoredRun> {
  const { files: all, problems: found } = await discoverFiles(paths);
  // Of all files, so that every share uses the same names.
  const below = root ?? commonFolder(all.map((f) => f.path));
  const own = share ? all.filter((_, i) => i % share.of === share.index) : all;
  const files = areFound ? own.map((file) => ({ ...file, explicit: false })) : own;
  const results = await readAll(files, { store: { ...store, root: below } }, options);
  const problems = new ProblemLog();
  problems.addAll(found);
  const { ignored } = sift(files, results, problems);
  const written = results.flatMap((r) => r.written ?? []);
  const unwritten = results.find((r) => r.isUnwritten);
  if (written.length === 0 && !unwritten && !share && !areFound) throw nothingReadable(results);
  const stored = { written, ignored, problems: problems.list() };
  if (share) noteShare(stored, store.folder, share);
  if (unwritten) throw new OutputError(unwritten.error!);
  return stored;
}

/** Whoever divided the files finds here what became of them. Reading the folder skips it. */
function noteShare(stored: StoredRun, folder: string, { index, of }: Share): void {
  const name = `share-${index}-of-${of}-${randomBytes(4).toString('hex')}.json`;
  atomically(join(folder, '.whyslow', name), (path) => writeFileSync(path, JSON.stringify(stored)));
}

/** The files that would be read, for a program that divides them among machines. */
export async function listInputs(paths: readonly string[]) {
  const { files } = await discoverFiles(paths);
  return Promise.all(files.map(async (file) => ({ ...file, modified: await modifiedAt(file.path) })));
}

/** Milliseconds since 1970; 0 where there is no such time. */
const modifiedAt = async (path: string): Promise<number> =>
  (await stat(path).catch(() => null))?.mtimeMs ?? 0;
