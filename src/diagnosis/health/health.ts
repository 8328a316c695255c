import {
  type CheckResult,
  type Grade,
  type Health,
  type HealthProblem,
  inputProblem,
  type Severity,
} from '../../base/check.js';
import type { Problem } from '../../base/problem.js';
import { missingRanks, type RankWindow, type SeenRanks, startSkew } from './run-checks.js';

const WEIGHT: Readonly<Record<Severity, number>> = { note: 0, warning: 1, severe: 2 };
const GRADES: readonly Grade[] = ['good', 'usable', 'poor'];

/** Joins what was found on each rank: the same problem on several ranks is one entry. */
export function summarizeHealth(
  perRank: readonly { readonly rank: number; readonly problems: readonly CheckResult[] }[],
  runProblems: readonly Problem[],
  windows: readonly RankWindow[],
  seen: SeenRanks,
): Health {
  const byCode = new Map<string, Joined>();
  for (const { rank, problems } of perRank) for (const p of problems) join(byCode, p, rank);
  const problems: HealthProblem[] = [
    ...[...byCode.values()].map(({ ranks, ...p }) => ({ ...p, ranks: [...ranks] })),
    ...runProblems.map((p) => ({ ...inputProblem(p), ranks: [] })),
    ...startSkew(windows),
    ...missingRanks(seen),
  ].sort((a, b) => WEIGHT[b.severity] - WEIGHT[a.severity]);
  return { grade: GRADES[problems[0] ? WEIGHT[problems[0].severity] : 0]!, problems };
}

interface Joined extends Problem {
  count: number;
  severity: Severity;
  readonly ranks: Set<number>;
}

function join(byCode: Map<string, Joined>, problem: CheckResult, rank: number): void {
  const known = byCode.get(problem.code);
  if (!known) {
    byCode.set(problem.code, { ...problem, ranks: new Set([rank]) });
    return;
  }
  known.count += problem.count;
  if (WEIGHT[problem.severity] > WEIGHT[known.severity]) known.severity = problem.severity;
  known.ranks.add(rank);
}
