import { manifestOf } from '../ingest/input.js';
import type { RunInputs } from '../ingest/read-run.js';
import type { CompiledFunction, GraphBreak } from '../model/compile-log.js';
import { type ProcessStacks, processStacks, type RankProfile } from './hang/process-stacks.js';
import { type RankDump, type StuckCollective, stuckCollectives } from './hang/stuck-collectives.js';
import type { RankActivity } from './ranks/rank-activity.js';

export type { CompiledFunction, FailedGuard, GraphBreak, GuardKind } from '../model/compile-log.js';
export type { StuckCollective } from './hang/stuck-collectives.js';

/** What files other than traces and event logs show about the job. Empty if there are none. */
export interface RunEvidence {
  /** Functions that torch.compile compiled again. */
  readonly compiled: readonly CompiledFunction[];
  readonly graphBreaks: readonly GraphBreak[];
  /** Collectives that ranks entered and did not leave. */
  readonly stuck: readonly StuckCollective[];
  /** What the main thread of each process does, from py-spy. */
  readonly stacks: readonly ProcessStacks[];
  /** What samples of /proc say, by rank. */
  readonly activity: ReadonlyMap<number, RankActivity>;
}

export const NO_EVIDENCE: RunEvidence = {
  compiled: [],
  graphBreaks: [],
  stuck: [],
  stacks: [],
  activity: new Map(),
};

/** A log that names no rank is of the rank in its file name. */
export function runEvidence(
  { beside }: Pick<RunInputs, 'beside'>,
  activity: RunEvidence['activity'] = new Map(),
): RunEvidence {
  const logs = beside.flatMap(({ evidence, hints }) =>
    evidence.compileLog ? [{ log: evidence.compileLog, hints }] : [],
  );
  const ranked = <T extends { readonly rank: number | null }>(all: readonly T[], rank: number | null): T[] =>
    all.map((one) => ({ ...one, rank: one.rank ?? rank }));
  return {
    compiled: logs.flatMap(({ log, hints }) => ranked(log.functions, hints.rank)),
    graphBreaks: logs.flatMap(({ log, hints }) => ranked(log.graphBreaks, hints.rank)),
    stuck: stuckCollectives(rankDumps(beside)),
    stacks: processStacks(rankProfiles(beside)),
    activity,
  };
}

/** Dumps do not name their rank: the file name does, or else the order of files. */
function rankDumps(beside: RunInputs['beside']): readonly RankDump[] {
  const dumps = beside.flatMap(({ evidence, hints }) =>
    evidence.flightDump ? [{ dump: evidence.flightDump, hints }] : [],
  );
  const named = dumps.some(({ hints }) => hints.rank !== null);
  return dumps.flatMap(({ dump, hints }, i) => {
    const rank = named ? hints.rank : i;
    return rank === null ? [] : [{ rank, dump }];
  });
}

/** Manifests know the process of each rank, if the file name does not show it. */
function rankProfiles(beside: RunInputs['beside']): readonly RankProfile[] {
  const rankOf = new Map<number, number>();
  for (const manifest of beside.map(manifestOf))
    if (manifest?.of === 'rank' && manifest.pid !== null && manifest.rank !== null)
      rankOf.set(manifest.pid, manifest.rank);
  return beside.flatMap(({ evidence, hints }) =>
    (evidence.stacks ?? []).map((profile) => ({
      profile,
      rank: hints.rank ?? rankOf.get(profile.pid ?? -1) ?? null,
    })),
  );
}
