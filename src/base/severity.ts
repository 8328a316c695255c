import type { CheckResult, Severity } from './check.js';
import type { Problem } from './problem.js';

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

export function inputProblem(problem: Problem): CheckResult {
  return { ...problem, severity: SEVERITY[problem.code] ?? 'warning' };
}
