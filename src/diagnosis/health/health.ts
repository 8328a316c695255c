import type { Problem } from '../../base/problem.js';
import type { Trace } from '../../model/trace.js';
import {
  type CheckResult,
  found,
  type Grade,
  type Health,
  type HealthProblem,
  type Severity,
} from '../../base/check.js';
import { missingRanks, type RankWindow, type SeenRanks, seenIn, startSkew } from './run-checks.js';
import { TRACE_CHECKS } from '../../traces/checks/trace-checks.js';

/** How much a reader's or source's problem weighs; what is not listed is a warning. */
const SEVERITY: Readonly<Record<string, Severity>> = {
  ...{ 'no-trace-events': 'severe', 'empty-file': 'severe', 'dropped-event': 'warning' },
  ...{
    'trailing-comma': 'note',
    'missing-comma': 'note',
    'trailing-data': 'note',
    'trailing-garbage': 'note',
  },
  ...{
    'repaired-event': 'note',
    'control-character': 'note',
    'invalid-utf8': 'note',
    'non-finite-number': 'note',
  },
  ...{ 'missing-end': 'note', 'not-an-event': 'note', 'long-string': 'note', 'several-runs': 'note' },
  ...{ 'malformed-header': 'warning', 'duplicate-rank': 'severe', 'rank-conflict': 'severe' },
  ...{ 'slow-scanner': 'note', 'same-file-twice': 'note', 'rank-from-order': 'note', 'step-order': 'note' },
  // Of telemetry some samples fewer change nothing.
  ...{ 'cut-sample': 'note', 'odd-line': 'note', 'odd-value': 'note', 'too-many-samples': 'note' },
  ...{
    'other-run': 'note',
    'groups-outside-mesh': 'note',
    'telemetry-unplaced': 'note',
    'long-field': 'note',
  },
};

export function checkTrace(trace: Trace): readonly CheckResult[] {
  return TRACE_CHECKS.flatMap((check) => {
    try {
      return check(trace);
    } catch (error) {
      // A bug in one check must not cost the user all the others.
      const message = `the check ${check.name} failed: ${error instanceof Error ? error.message : String(error)}`;
      return found('warning', 'check-failed', 1, message, 'please report it; the other checks ran');
    }
  });
}

export function inputProblem(problem: Problem): CheckResult {
  return { ...problem, severity: SEVERITY[problem.code] ?? 'warning' };
}

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
