import type { Position, Problem } from './problem.js';

/** note: nothing to worry about; warning: some figures are affected; severe: check before you trust any figure. */
export type Severity = 'note' | 'warning' | 'severe';

export interface HealthProblem extends Problem {
  readonly severity: Severity;
  /** Ranks that have the problem. */
  readonly ranks: readonly number[];
}

/** What a check of one trace returns: a problem without its rank. */
export type CheckResult = Problem & { readonly severity: Severity };

/** One result, or none where the count is 0. */
export function found(
  severity: Severity,
  code: string,
  count: number,
  message: string,
  consequence: string,
  first: Position | null = null,
): CheckResult[] {
  return count > 0 ? [{ severity, code, count, message, consequence, first }] : [];
}

export type Grade = 'good' | 'usable' | 'poor';

export interface Health {
  readonly grade: Grade;
  /** Worst first. */
  readonly problems: readonly HealthProblem[];
}

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
