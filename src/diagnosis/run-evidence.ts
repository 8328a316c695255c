import type { RunInputs } from '../ingest/read-run.js';
import type { CompiledFunction, GraphBreak } from '../model/compile-log.js';

export type { CompiledFunction, FailedGuard, GraphBreak, GuardKind } from '../model/compile-log.js';

/** What files beside traces and event logs tell about the job. Empty where there are none. */
export interface RunEvidence {
  /** Functions that torch.compile compiled again. */
  readonly compiled: readonly CompiledFunction[];
  readonly graphBreaks: readonly GraphBreak[];
}

export const NO_EVIDENCE: RunEvidence = { compiled: [], graphBreaks: [] };

/** A log that names no rank is of the rank in its file name. */
export function runEvidence({ beside }: Pick<RunInputs, 'beside'>): RunEvidence {
  const logs = beside.flatMap((m) => (m.kind === 'torch-log' ? [m] : []));
  const ranked = <T extends { readonly rank: number | null }>(all: readonly T[], rank: number | null): T[] =>
    all.map((one) => ({ ...one, rank: one.rank ?? rank }));
  return {
    compiled: logs.flatMap(({ log, hints }) => ranked(log.functions, hints.rank)),
    graphBreaks: logs.flatMap(({ log, hints }) => ranked(log.graphBreaks, hints.rank)),
  };
}
