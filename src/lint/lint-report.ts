import type { LintFinding } from './kit/finding.js';

/** What `whyslow lint --json` prints. */
export interface LintReport {
  readonly schema: 'whyslow/lint/1';
  readonly findings: readonly LintFinding[];
  readonly files: readonly LintedFileInfo[];
  readonly tool: { readonly name: string; readonly version: string };
}

export interface LintedFileInfo {
  readonly path: string;
  /** How many were found. */
  readonly findings: number;
  /** Findings that comments turned off. */
  readonly ignored: number;
  /** What kept lint from reading all of it, one sentence each. */
  readonly problems: readonly string[];
}
