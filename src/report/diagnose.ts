import { InputError } from '../base/input-error.js';
import type { ProgressSink } from '../ingest/read-run.js';
import type { Report } from './report.js';

export interface DiagnoseOptions {
  /** Both ends included; null: open. */
  readonly steps: { readonly first: number | null; readonly last: number | null } | null;
  readonly ranks: readonly number[] | null;
  /** Files read at once. */
  readonly jobs?: number;
  readonly progress?: ProgressSink;
}

// PLACEHOLDER: stands in until the diagnosis itself is written; only the signature is meant to stay.
export async function diagnose(_paths: readonly string[], _options: DiagnoseOptions): Promise<Report> {
  throw new InputError('not built yet');
}
