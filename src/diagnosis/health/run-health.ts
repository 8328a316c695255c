import type { Grade, Health } from '../../base/check.js';
import type { Problem } from '../../base/problem.js';
import { traceSummaryOf } from '../../ingest/member.js';
import type { RankedMember } from '../../ingest/ranks.js';
import type { RunInputs } from '../../ingest/read-run.js';
import type { Comparison } from '../../run/compare.js';
import { meshProblems, type RunLocations, runFileProblems } from '../ranks/locations.js';
import type { RankView } from '../ranks/rank-view.js';
import { summariseHealth } from './health.js';
import type { RankWindow } from './run-checks.js';

export interface RunHealth {
  /** How good the input is. Problems that only the comparison or the rules find do not count. */
  readonly grade: Grade;
  /** All problems, including those that rules add. */
  with(ruleProblems: readonly Problem[]): Health;
}

interface Checked {
  readonly inputs: RunInputs;
  readonly members: readonly RankedMember[];
  readonly views: readonly RankView[];
  readonly locations: RunLocations;
  readonly comparison: Comparison | null;
}

export function runHealth({ inputs, members, views, locations, comparison }: Checked): RunHealth {
  const perRank = [
    ...members.map(({ member, rank }) => ({ rank, problems: member.checks })),
    ...views.map(({ rank, notes }) => ({ rank, problems: notes })),
  ];
  const windows = windowsOf(members);
  const seen = { ranks: members.map((m) => m.rank), worldSize: locations.worldSize };
  const runProblems = [...inputs.problems, ...runFileProblems(inputs), ...locations.problems];
  const summarise = (others: readonly Problem[]) =>
    summariseHealth(perRank, [...runProblems, ...others], windows, seen);
  return {
    grade: summarise([]).grade,
    with: (ruleProblems) => summarise([...meshProblems(comparison, locations), ...ruleProblems]),
  };
}

/** When each trace was recorded. */
export function windowsOf(members: readonly RankedMember[]): RankWindow[] {
  return members.flatMap(({ member, rank }) => {
    const summary = traceSummaryOf(member);
    if (!summary) return [];
    const { startNs, endNs } = summary.window;
    const group = String(member.hints.step ?? '');
    return [{ group, rank, startNs, endNs, worldSize: summary.distributed?.worldSize ?? null }];
  });
}
