import type { CheckResult, Grade, Health, HealthProblem, Severity } from '../../base/check.js';
import type { Problem } from '../../base/problem.js';
import { inputProblem } from '../../base/severity.js';
import { missingRanks, type RankWindow, type SeenRanks, seenIn, startSkew } from './run-checks.js';

/** Joins what was found on each rank: the same problem on many ranks is one entry. */
export function summariseHealth(
  perRank: readonly { readonly rank: number; readonly problems: readonly CheckResult[] }[],
  ofTheRun: readonly Problem[],
  windows: readonly RankWindow[],
  seen: SeenRanks = seenIn(windows),
): Health {
  const byCode = new Map<string, HealthProblem>();
  for (const { rank, problems } of perRank) {
    for (const p of problems) {
      const seen = byCode.get(p.code);
      byCode.set(
        p.code,
        seen
          ? {
              ...seen,
              count: seen.count + p.count,
              severity: worse(seen.severity, p.severity),
              ranks: [...new Set([...seen.ranks, rank])],
            }
          : { ...p, ranks: [rank] },
      );
    }
  }
  const run = ofTheRun.map((p) => ({ ...inputProblem(p), ranks: [] }));
  const problems = [...byCode.values(), ...run, ...startSkew(windows), ...missingRanks(seen)];
  const ordered = problems.sort((a, b) => WEIGHT[b.severity] - WEIGHT[a.severity]);
  return { grade: gradeOf(ordered), problems: ordered };
}

const WEIGHT: Readonly<Record<Severity, number>> = { note: 0, warning: 1, severe: 2 };

function worse(a: Severity, b: Severity): Severity {
  return WEIGHT[a] >= WEIGHT[b] ? a : b;
}

function gradeOf(problems: readonly HealthProblem[]): Grade {
  const worst = Math.max(0, ...problems.map((p) => WEIGHT[p.severity]));
  return worst === 0 ? 'good' : worst === 1 ? 'usable' : 'poor';
}
