import { InputError } from '../base/input-error.js';
import { type Problem, ProblemLog } from '../base/problem.js';
import { discoverFiles } from '../sources/discover.js';
import { type ReadOptions, readAll } from './pool.js';
import { nothingReadable, sift } from './read-run.js';
import { commonFolder, type StoreOptions, type WrittenFile } from './store-facts.js';

export interface StoredRun {
  readonly written: readonly WrittenFile[];
  readonly problems: readonly Problem[];
}

/** Writes facts of everything found under the paths. Throws InputError when there is nothing to read. */
export async function storeInputs(
  paths: readonly string[],
  { root, ...store }: Omit<StoreOptions, 'root'> & { readonly root: string | undefined },
  options: ReadOptions,
): Promise<StoredRun> {
  const { files, problems: found } = await discoverFiles(paths);
  const below = root ?? commonFolder(files.map((f) => f.path));
  const results = await readAll(files, { store: { ...store, root: below } }, options);
  const problems = new ProblemLog();
  problems.addAll(found);
  sift(files, results, problems);
  const written = results.flatMap((r) => r.written ?? []);
  if (written.length === 0) throw new InputError(nothingReadable(results));
  return { written, problems: problems.list() };
}
