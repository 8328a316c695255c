import type { RunInputs } from '../ingest/read-run.js';
import type { CompiledFunction, GraphBreak } from '../model/compile-log.js';
import { type RankDump, type StuckCollective, stuckCollectives } from './hang/stuck-collectives.js';

export type { CompiledFunction, FailedGuard, GraphBreak, GuardKind } from '../model/compile-log.js';
export type { StuckCollective } from './hang/stuck-collectives.js';

/** What files beside traces and event logs tell about the job. Empty where there are none. */
export interface RunEvidence {
  /** Functions that torch.compile compiled again. */
  readonly compiled: readonly CompiledFunction[];
  readonly graphBreaks: readonly GraphBreak[];
  /** Collectives that ranks entered and did not leave. */
  readonly stuck: readonly StuckCollective[];
}

export const NO_EVIDENCE: RunEvidence = { compiled: [], graphBreaks: [], stuck: [] };

/** A log that names no rank is of the rank in its file name. */
export function runEvidence({ beside }: Pick<RunInputs, 'beside'>): RunEvidence {
  const logs = beside.flatMap((m) => (m.kind === 'torch-log' ? [m] : []));
  const ranked = <T extends { readonly rank: number | null }>(all: readonly T[], rank: number | null): T[] =>
    all.map((one) => ({ ...one, rank: one.rank ?? rank }));
  return {
    compiled: logs.flatMap(({ log, hints }) => ranked(log.functions, hints.rank)),
    graphBreaks: logs.flatMap(({ log, hints }) => ranked(log.graphBreaks, hints.rank)),
    stuck: stuckCollectives(rankDumps(beside)),
  };
}

/** Dumps do not name their rank: the file name does, or else the order of files. */
function rankDumps(beside: RunInputs['beside']): readonly RankDump[] {
  const members = beside.flatMap((m) => (m.kind === 'flight-recorder' ? [m] : []));
  const named = members.some((m) => m.hints.rank !== null);
  return members.flatMap(({ dump, hints }, i) => {
    const rank = named ? hints.rank : i;
    return rank === null ? [] : [{ rank, dump }];
  });
}
