import { messageOf } from '../../base/input-error.js';
import { ProblemLog } from '../../base/problem.js';
import { largest } from '../../base/statistics.js';
import { type CollectiveGroup, groupChecks, type RankCollectives } from '../../facts/rank-collectives.js';
import type { StepRange } from '../../facts/step-facts.js';
import { logOf, traceFactsOf } from '../../ingest/input.js';
import type { RankedInput } from '../../ingest/ranks.js';
import { analyzeEventLog, type EventFacts } from '../../logs/event-facts.js';
import { inOneUnit } from '../../logs/iteration.js';
import { keepSteps, withoutDenseHead } from '../../logs/keep-steps.js';
import { collectivesOfLog, MemberLists } from '../../logs/log-collectives.js';
import { logFactsOf, unprofiledLog } from '../../logs/log-facts.js';
import type { EventLogRun } from '../../model/event-log.js';
import { fromPhases } from '../../run/collectives/from-phases.js';
import { type RankView, viewLog, viewTrace } from './rank-view.js';

/** One log file. Its rank applies to records without a rank. */
interface LogFile {
  readonly rank: number;
  readonly runs: readonly EventLogRun[];
  /** One entry per run and rank in the file. */
  readonly facts: readonly EventFacts[];
}

/**
 * One view per rank: its trace, with the step time from its log if there is one, or else its log. `steps` selects steps of
 * ranks that have only a log. If there is a trace, all steps of the log count: it shows how long a step takes without the profiler.
 * `failures` gets the logs whose analysis failed: a bug there must not cost the user the other files.
 */
export function viewsOf(
  members: readonly RankedInput[],
  steps: StepRange | null,
  failures = new ProblemLog(),
): RankView[] {
  const withTrace = new Set(members.filter((m) => traceFactsOf(m)).map((m) => m.rank));
  const logs = members.flatMap((m) => logsOf(m, withTrace.has(m.rank) ? null : steps, failures));
  const facts = logs.flatMap((l) => l.facts);
  const newest = [...new Map(facts.map((f) => [f.rank, f])).values()];
  const collectives = collectivesOf(logs, newest);
  const logged = new Map(
    newest.map((f, i) => [f.rank, viewLog(f.rank, logFactsOf(f, collectives[i]!), f)] as const),
  );
  const traced = members.flatMap((input) => {
    const { rank } = input;
    const trace = traceFactsOf(input);
    if (!trace) return [];
    const unprofiled = unprofiledLog(facts, rank, trace.time.idle_data);
    return [viewTrace(rank, trace, unprofiled, logged.get(rank) ?? null)];
  });
  const alone = [...logged.values()].filter((view) => !withTrace.has(view.rank));
  return [...traced, ...alone]
    .map((view) => ({ ...view, notes: [...view.notes, ...groupChecks(view.facts.collectives)] }))
    .sort((a, b) => a.rank - b.rank);
}

function logsOf(input: RankedInput, steps: StepRange | null, failures: ProblemLog): LogFile[] {
  const { rank, path } = input;
  const whole = logOf(input);
  if (!whole) return [];
  try {
    const representative = steps === null ? withoutDenseHead(inOneUnit(whole)) : whole;
    const { log, notes } = keepSteps(representative, steps);
    const facts = analyzeEventLog(log).map((f) => ({
      ...f,
      rank: f.rank < 0 ? rank : f.rank,
      notes: [...f.notes, ...notes],
    }));
    return [{ rank, runs: log.runs, facts }];
  } catch (error) {
    const message = `the analysis of ${path} failed: ${messageOf(error)}`;
    failures.add('analysis-failed', { message, consequence: 'please report it; this file is left out' });
    return [];
  }
}

/** Collectives that the logs recorded. If there are none: phases that end on all ranks together. */
function collectivesOf(
  logs: readonly LogFile[],
  chosen: readonly EventFacts[],
): readonly (RankCollectives | null)[] {
  const keyOf = (run: string | null, rank: number) => `${run} ${rank}`;
  const members = new MemberLists();
  const recorded = new Map(
    logs.flatMap(({ runs, rank }) =>
      runs.flatMap((run) =>
        collectivesOfLog(run, members).map(
          (c) => [keyOf(run.id, c.rank < 0 ? rank : c.rank), c.collectives] as const,
        ),
      ),
    ),
  );
  const own = chosen.map((f) => recorded.get(keyOf(f.run, f.rank)) ?? null);
  return own.some((c) => c !== null) ? own : (fromPhases(chosen) ?? own);
}

/** Ranks of the job's groups that have neither a trace nor a log. */
export interface Unrecorded {
  readonly count: number;
  /** Of so many. */
  readonly of: number;
  /** Null: only their number is known. */
  readonly ranks: readonly number[] | null;
}

/** `all`: groups as each rank knows them. Null: all members were recorded, or nothing says who they are. */
export function unrecordedRanks(
  all: readonly CollectiveGroup[],
  recorded: ReadonlySet<number>,
): Unrecorded | null {
  // Each of thousands of ranks lists all members of its groups.
  const groups = [...new Map(all.map((g) => [g.key, g])).values()];
  const members = new Set(groups.flatMap((g) => g.ranks ?? []));
  // Ranks that were guessed from the order of files are none of the members.
  const isKnown = [...recorded].every((rank) => members.has(rank));
  const size = Math.max(members.size, largest(groups.map((g) => g.size ?? 0)), 0);
  const count = size - recorded.size;
  if (count <= 0) return null;
  const missing = [...members].filter((rank) => !recorded.has(rank)).sort((a, b) => a - b);
  return { count, of: size, ranks: isKnown && missing.length === count ? missing : null };
}
