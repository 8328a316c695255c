import { ns } from '../base/units.js';
import { manifestOf } from '../ingest/input.js';
import type { RunInputs } from '../ingest/read-run.js';
import type { MemoryFacts } from '../memory/memory-facts.js';
import type { CompiledFunction, GraphBreak } from '../model/compile-log.js';
import { type Compiling, compilingOf, type RankLog } from './compiling/compiling.js';
import { type Hang, hangOf } from './hang/hang.js';
import { type OftenLast, oftenLast } from './hang/often-last.js';
import { type ProcessStacks, processStacks, type RankProfile } from './hang/process-stacks.js';
import type { RankDump } from './hang/progress.js';
import { rasEvidence } from './hang/ras.js';
import type { RankActivity } from './ranks/rank-activity.js';

export { MEMORY_KINDS, type MemoryKind } from '../memory/kinds.js';
export type { MemoryFacts } from '../memory/memory-facts.js';
export type { CompiledFunction, FailedGuard, GraphBreak, GuardKind } from '../model/compile-log.js';

/** What files other than traces and event logs show about the job. Empty if there are none. */
export interface RunEvidence {
  /** Functions that torch.compile compiled again. */
  readonly compiled: readonly CompiledFunction[];
  readonly graphBreaks: readonly GraphBreak[];
  /** How long torch.compile took. Null: no log of it has times. */
  readonly compiling: Compiling | null;
  /** Who waits for whom, from dumps of the flight recorder. Null: there are none, or nobody waits. */
  readonly hang: Hang | null;
  /** Who is last in most collectives, from dumps with times. Null: there are none, or nobody stands out. */
  readonly oftenLast: OftenLast | null;
  /** What holds the memory of each GPU, from memory snapshots. */
  readonly memory: readonly RankMemory[];
  /** What the main thread of each process does, from py-spy. */
  readonly stacks: readonly ProcessStacks[];
  /** An allocation failed, and the job did not go on. */
  readonly ranOut: boolean;
  /** One answer of NCCL's RAS, which shows nothing by itself. */
  readonly isOneLook?: boolean;
  /** `whyslow run` took dumps and stacks because no step ended any more. */
  readonly isStuck: boolean;
  /** What samples of /proc say, by rank. */
  readonly activity: ReadonlyMap<number, RankActivity>;
}

/** One GPU of one process. */
export interface RankMemory {
  /** Null: the file name does not show it. */
  readonly rank: number | null;
  readonly facts: MemoryFacts;
}

export const NO_EVIDENCE: RunEvidence = {
  compiled: [],
  graphBreaks: [],
  compiling: null,
  hang: null,
  oftenLast: null,
  memory: [],
  stacks: [],
  ranOut: false,
  isStuck: false,
  activity: new Map(),
};

/** A log whose lines name no rank is of the rank in its file name, or of the one that its records name. */
export function runEvidence(
  { beside }: Pick<RunInputs, 'beside'>,
  activity: RunEvidence['activity'] = new Map(),
): RunEvidence {
  const logs = beside.flatMap(({ evidence, hints }) =>
    evidence.compileLog
      ? [{ log: evidence.compileLog, rank: hints.rank ?? evidence.compileLog.times?.rank ?? null }]
      : [],
  );
  const ranked = <T extends { readonly rank: number | null }>(all: readonly T[], rank: number | null): T[] =>
    all.map((one) => ({ ...one, rank: one.rank ?? rank }));
  const ras = rasEvidence(beside.flatMap(({ evidence }) => evidence.ras ?? []));
  // Recorders know the order of calls, which RAS does not.
  const own = rankDumps(beside);
  const dumps = own.length > 0 ? own : ras.dumps;
  return {
    compiled: logs.flatMap(({ log, rank }) => ranked(log.functions, rank)),
    graphBreaks: logs.flatMap(({ log, rank }) => ranked(log.graphBreaks, rank)),
    compiling: compilingOf(
      logs.flatMap(({ log, rank }) =>
        log.times ? [{ times: { ...log.times, rank }, started: startOf(beside, rank) }] : [],
      ),
    ),
    hang: hangOf(dumps),
    oftenLast: oftenLast(dumps),
    memory: beside.flatMap(({ evidence, hints }) =>
      (evidence.memory ?? []).map((facts) => ({ rank: hints.rank, facts })),
    ),
    stacks: processStacks([...ras.silent, ...rankProfiles(beside)]),
    ranOut: beside.some(({ path }) => OF_FAILED_JOB.test(path)),
    isOneLook: ras.isOneLook,
    isStuck: beside.some(({ path }) => OF_STUCK_JOB.test(path)),
    activity,
  };
}

/** Capture removes these files if steps go on. */
const OF_FAILED_JOB = /(?:^|[\\/])memory[\\/]oom_rank_\d+\.pickle$/;
const OF_STUCK_JOB = /(?:^|[\\/])stuck[\\/](?:stacks|flight)_rank_\d+\.(?:txt|json)$/;

/** When the process of the rank started, as capture recorded it. A log without a rank is of the only one. */
function startOf(beside: RunInputs['beside'], rank: number | null): RankLog['started'] {
  const manifests = beside.map(manifestOf).filter((m) => m?.of === 'rank');
  const own = manifests.filter((m) => rank === null || m.rank === rank);
  if (own.length !== 1) return null;
  const [{ processStartedNs, anchors }] = own as [(typeof own)[number]];
  // Capture begins with the first optimizer, and a model may be compiled before that.
  const wallNs = processStartedNs ?? anchors.find(({ at }) => at === 'start')?.wallNs;
  return wallNs === undefined ? null : ns(wallNs);
}

/**
 * Dumps do not name their rank. The file name does, with or without the word: torch only asks for a number at its end. Otherwise
 * the order of files decides.
 */
function rankDumps(beside: RunInputs['beside']): readonly RankDump[] {
  const dumps = beside.flatMap(({ evidence, hints, path }) =>
    evidence.flightDump ? [{ dump: evidence.flightDump, rank: hints.rank, path }] : [],
  );
  const numbers = dumps.map(({ path }) => /(?<!\d)(\d{1,6})(?:\.[a-z]\w*)*$/i.exec(path)?.[1] ?? null);
  const areNumbered = new Set(numbers).size === numbers.length && !numbers.includes(null);
  const named = dumps.some(({ rank }) => rank !== null);
  return dumps.flatMap(({ dump, rank: inName }, i) => {
    const rank = named ? inName : areNumbered ? Number(numbers[i]) : i;
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
      rank: profile.rank ?? hints.rank ?? rankOf.get(profile.pid ?? -1) ?? null,
    })),
  );
}
