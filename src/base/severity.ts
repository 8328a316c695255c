import type { CheckResult, Severity } from './check.js';
import type { Problem } from './problem.js';

/** Problems of readers and sources that make the figures doubtful. */
const SEVERE: ReadonlySet<string> = new Set([
  'no-trace-events',
  'empty-file',
  'duplicate-rank',
  'rank-conflict',
]);

/** Problems that change no figure, or hardly any. */
// biome-ignore format: a list
const NOTES: ReadonlySet<string> = new Set([
  'trailing-comma', 'missing-comma', 'trailing-data', 'trailing-garbage', 'repaired-event', 'control-character',
  'invalid-utf8', 'non-finite-number', 'missing-end', 'not-an-event', 'long-string', 'long-field', 'several-runs',
  'other-run', 'other-window', 'same-file-twice', 'rank-from-order', 'step-order', 'slow-scanner', 'groups-outside-mesh',
  'cut-sample', 'odd-line', 'odd-value', 'too-many-samples', 'telemetry-unplaced', 'inferred-copies',
]);

/** A problem of a reader or source with its severity; every other code is a warning. */
export function inputProblem(problem: Problem): CheckResult {
  const { code } = problem;
  const severity: Severity = SEVERE.has(code) ? 'severe' : NOTES.has(code) ? 'note' : 'warning';
  return { ...problem, severity };
}
