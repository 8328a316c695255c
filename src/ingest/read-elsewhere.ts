import { ProblemLog } from '../base/problem.js';
import { formatRanks } from '../base/rank-ranges.js';
import { naturalOrder } from '../sources/natural-order.js';
import { rankFromPath } from '../sources/rank-name.js';
import type { RunInputs } from './read-run.js';

/** A file that could not be read on the machine that has it. */
export interface LostInput {
  readonly path: string;
  readonly why: string;
}

/** What became of files that were read on a cluster. */
export interface ReadElsewhere {
  readonly lost: readonly LostInput[];
  readonly ignored: readonly string[];
}

/** Names what is missing. The rest still gives an answer. */
export function withElsewhere(run: RunInputs, { lost, ignored }: ReadElsewhere): RunInputs {
  const inputs = { ...run, ignored: [...run.ignored, ...ignored.toSorted(naturalOrder)] };
  if (lost.length === 0) return inputs;
  const problems = new ProblemLog();
  problems.addAll(inputs.problems);
  const ranks = [...new Set(lost.flatMap(({ path }) => rankFromPath(path).rank ?? []))].sort((a, b) => a - b);
  const missing =
    ranks.length > 0
      ? `nothing is known of ${ranks.length > 1 ? 'ranks' : 'rank'} ${formatRanks(ranks)}`
      : 'left out';
  problems.addNamed(
    'lost-file',
    lost.map(({ path, why }) => `${path} could not be read on the cluster: ${why}`),
    missing,
  );
  return { ...inputs, problems: problems.list() };
}
