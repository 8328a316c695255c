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
