import type { CheckResult, Grade, Health, HealthProblem, Severity } from '../../base/check.js';
import type { Problem } from '../../base/problem.js';
import { inputProblem } from '../../base/severity.js';
import { missingRanks, type RankWindow, type SeenRanks, startSkew } from './run-checks.js';

const WEIGHT: Readonly<Record<Severity, number>> = { note: 0, warning: 1, severe: 2 };
const GRADES: readonly Grade[] = ['good', 'usable', 'poor'];

/** Joins what was found on each rank: the same problem on several ranks is one entry. */
export function summariseHealth(
  perRank: readonly { readonly rank: number; readonly problems: readonly CheckResult[] }[],
  runProblems: readonly Problem[],
  windows: readonly RankWindow[],
  seen: SeenRanks,
): Health {
  const byCode = new Map<string, HealthProblem>();
  for (const { rank, problems } of perRank)
    for (const p of problems) byCode.set(p.code, joined(byCode.get(p.code), p, rank));
  const problems = [
    ...byCode.values(),
    ...runProblems.map((p) => ({ ...inputProblem(p), ranks: [] })),
    ...startSkew(windows),
    ...missingRanks(seen),
  ].sort((a, b) => WEIGHT[b.severity] - WEIGHT[a.severity]);
  return { grade: GRADES[problems[0] ? WEIGHT[problems[0].severity] : 0]!, problems };
}

function joined(earlier: HealthProblem | undefined, problem: CheckResult, rank: number): HealthProblem {
  if (!earlier) return { ...problem, ranks: [rank] };
  return {
    ...earlier,
    count: earlier.count + problem.count,
    severity: WEIGHT[problem.severity] > WEIGHT[earlier.severity] ? problem.severity : earlier.severity,
    ranks: [...new Set([...earlier.ranks, rank])],
  };
}
