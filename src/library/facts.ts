import { readdirSync } from 'node:fs';
import { relative, resolve, sep } from 'node:path';
import { InputError } from '../base/input-error.js';
import { type Problem, ProblemLog } from '../base/problem.js';
import type { StepRange } from '../facts/step-facts.js';
import type { ReadOptions } from '../ingest/pool.js';
import { listInputs, type Share, type StoredRun, storeInputs } from '../ingest/store-run.js';
import { toolInfo } from '../report/tool-info.js';
import { namedPaths } from '../sources/discover.js';

export type { Share };
export { listInputs, namedPaths };

export interface FactsOptions extends ReadOptions {
  /** Where the files go; made if it is not there. */
  readonly folder: string;
  /** Only these steps. `diagnose` then needs the same. */
  readonly steps?: StepRange | null | undefined;
  /** Names in the folder are paths below this one. Default: what all files have in common. */
  readonly root?: string | undefined;
  /** Only these of all files. */
  readonly share?: Share | undefined;
  /** The paths were found in a directory: one that is not recognized is no failure. */
  readonly areFound?: boolean | undefined;
}

/** What `whyslow facts --json` prints. */
export interface FactsReport extends StoredRun {
  readonly schema: 'whyslow/facts/1';
}

/**
 * Writes what diagnosis needs of each trace into a small file, and copies logs and manifests too. Diagnosing the
 * folder gives the report that the traces give. Throws InputError when there is nothing to read.
 */
export async function facts(
  paths: string | readonly string[],
  { folder, steps = null, root, share, areFound = false, ...reading }: FactsOptions,
): Promise<FactsReport> {
  const all = typeof paths === 'string' ? [paths] : paths;
  for (const path of all) mustNotHold(path, folder);
  const { version } = toolInfo();
  const stored = await storeInputs(all, { steps, folder, root, share, areFound, by: version }, reading);
  const isWhole = share === undefined && !areFound;
  const others = isWhole ? otherFacts(folder, stored.written) : [];
  return { schema: 'whyslow/facts/1', ...stored, problems: [...stored.problems, ...others] };
}

/** Those of another run, or of an earlier call: diagnosing the folder would mix them with these. */
function otherFacts(folder: string, written: FactsReport['written']): readonly Problem[] {
  const own = new Set(written.map(({ path }) => resolve(path)));
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const others = names.filter((name) => name.endsWith('.facts') && !own.has(resolve(folder, name)));
  const problems = new ProblemLog();
  if (others.length > 0)
    problems.addNamed(
      'other-facts',
      [`${folder} also has facts of other traces: ${others[0]}`, ...others.slice(1)],
      'diagnose reads them too; give each run a folder of its own',
    );
  return problems.list();
}

/** Diagnosing the folder of the traces would then find every rank twice, except in a folder that searches skip. */
function mustNotHold(path: string, folder: string): void {
  const below = relative(resolve(path), resolve(folder));
  if (below.split(sep)[0] === '.whyslow') return;
  if (below === '' || !(below.startsWith('..') || below === resolve(folder)))
    throw new InputError(`-o ${folder} is inside ${path}: choose a folder outside of what is read`);
}
