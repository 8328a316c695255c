import { type CheckResult, found, type Health, type HealthProblem } from '../../base/check.js';
import type { Problem } from '../../base/problem.js';
import { formatCount, formatNumber } from '../../base/units.js';
import { traceSummaryOf } from '../../ingest/input.js';
import type { RankedInput } from '../../ingest/ranks.js';
import type { RunInputs } from '../../ingest/read-run.js';
import type { Comparison } from '../../run/compare.js';
import { meshProblems, type RunLocations, runFileProblems } from '../ranks/locations.js';
import type { RankView } from '../ranks/rank-view.js';
import { summarizeHealth } from './health.js';
import { profiledBefore } from './profiled-before.js';
import type { RankWindow } from './run-checks.js';

export interface RunHealth {
  /** What is worst about the input, if it is severe. Problems that only the comparison or the rules find do not count. */
  readonly severe: HealthProblem | null;
  /** All problems, including those that rules add. */
  with(ruleProblems: readonly Problem[]): Health;
}

interface Checked {
  readonly inputs: RunInputs;
  readonly members: readonly RankedInput[];
  readonly views: readonly RankView[];
  readonly locations: RunLocations;
  readonly comparison: Comparison | null;
}

export function runHealth({ inputs, members, views, locations, comparison }: Checked): RunHealth {
  const ofViews = views.map((view) => ({ rank: view.rank, problems: view.notes }));
  const notes = [
    ...ofViews,
    ...views.map(leftOutCollectives),
    ...dividedByLog(views),
    ...profiledBefore(inputs, members),
  ];
  const runProblems = [...inputs.problems, ...runFileProblems(inputs), ...locations.problems];
  const withMore = (more: readonly Problem[]) =>
    healthOf(members, locations.worldSize, [...runProblems, ...more], notes);
  return {
    severe: withMore([]).problems.find((p) => p.severity === 'severe' && !isSpared(p, views)) ?? null,
    with: (ruleProblems) => withMore([...meshProblems(comparison, locations), ...ruleProblems]),
  };
}

/** A truncated file that is not used misleads nobody, if there are others. */
const isSpared = ({ code }: HealthProblem, views: readonly RankView[]) =>
  code === 'lost-calls' && views.length > 0;

/** Memory is bounded: of very many collectives the first are kept. */
function leftOutCollectives({ rank, facts: { collectives } }: RankView) {
  const count = collectives?.leftOut ?? 0;
  const message = `${formatCount(count, 'collective')} beyond the first ${formatNumber(collectives?.length ?? 0)} were left out`;
  const consequence =
    'waits and transfers are those of the first; record fewer steps, or choose some with --steps';
  return { rank, problems: found('warning', 'collectives-left-out', count, message, consequence) };
}

/** The report shows how the step of every rank divides, as far as its files tell. */
function dividedByLog(views: readonly RankView[]) {
  if (views.every((view) => view.source === 'log')) return [];
  const message = 'no trace, so the event log alone says how the step divides';
  const consequence = 'compare step times with those of ranks with a trace, not parts of the step';
  return views
    .filter((view) => view.source === 'log')
    .map(({ rank }) => ({ rank, problems: found('note', 'divided-by-log', 1, message, consequence) }));
}

/** The health of files, with problems of the run as a whole, and notes on single ranks. */
export function healthOf(
  members: readonly RankedInput[],
  worldSize: number | null,
  runProblems: readonly Problem[],
  notes: readonly { readonly rank: number; readonly problems: readonly CheckResult[] }[] = [],
): Health {
  const checks = members.map(({ rank, checks }) => ({ rank, problems: checks }));
  const seen = { ranks: members.map((m) => m.rank), worldSize };
  return summarizeHealth([...checks, ...notes], runProblems, members.flatMap(windowOf), seen);
}

/** When a trace was recorded. Empty for other files. */
function windowOf(input: RankedInput): RankWindow[] {
  const { rank, hints } = input;
  const summary = traceSummaryOf(input);
  return summary ? [{ group: String(hints.step ?? ''), rank, ...summary.window }] : [];
}
