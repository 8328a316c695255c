import type { RankCollectives } from '../facts/rank-collectives.js';
import type { RankedMember } from '../ingest/ranks.js';
import { analyseEventLog, type EventFacts } from '../logs/event-facts.js';
import { unprofiledLog } from '../logs/join-step.js';
import { keepSteps } from '../logs/keep-steps.js';
import { fromEventLog } from '../logs/log-collectives.js';
import { fromPhases } from '../run/collectives/from-phases.js';
import type { StepRange } from '../traces/timeline/step-times.js';
import { asRankFacts } from './as-rank-facts.js';
import { viewRank } from './rank-view.js';
import type { RankView } from './run-facts.js';

/**
 * One view a rank: its trace, with unprofiled steps where a log has them; or the log alone. `steps`: those to look at, of
 * logs; beside a trace they tell how long any step takes without the profiler.
 */
export function viewsOf(given: readonly RankedMember[], steps: StepRange | null): RankView[] {
  const withTrace = new Set(given.flatMap(({ member, rank }) => (member.facts ? [rank] : [])));
  const kept = given.map((m) => {
    if (!m.member.log) return { ...m, notes: [] };
    const { log, notes } = keepSteps(m.member.log, withTrace.has(m.rank) ? null : steps);
    return { ...m, member: { ...m.member, log }, notes };
  });
  const members: readonly RankedMember[] = kept;
  const logs = kept.flatMap(({ member: { log }, rank, notes }) =>
    (log ? analyseEventLog(log) : []).map((f) => ({
      ...{ ...f, rank: f.rank < 0 ? rank : f.rank, notes: [...f.notes, ...notes] },
    })),
  );
  const traced = members.flatMap(({ member: { facts }, rank }) =>
    facts ? [viewRank(rank, facts, unprofiledLog(logs, rank, facts.time.idle_data))] : [],
  );
  const seen = new Set(traced.map((v) => v.rank));
  const newest = [...new Map(logs.filter((f) => !seen.has(f.rank)).map((f) => [f.rank, f])).values()];
  const collectives = collectivesOf(members, newest);
  const logged = newest.map((f, i) => viewRank(f.rank, asRankFacts(f, collectives[i]!), f));
  return [...traced, ...logged].sort((a, b) => a.rank - b.rank);
}

/** What logs record of collectives; where they record none, phases that end together. */
function collectivesOf(
  members: readonly RankedMember[],
  logs: readonly EventFacts[],
): readonly (RankCollectives | null)[] {
  const recorded = new Map(
    members.flatMap(({ member, rank }) =>
      (member.log?.runs ?? []).flatMap((run) =>
        fromEventLog(run).map((c) => [`${run.id} ${c.rank < 0 ? rank : c.rank}`, c.collectives] as const),
      ),
    ),
  );
  const own = logs.map((f) => recorded.get(`${f.run} ${f.rank}`) ?? null);
  return own.some((c) => c !== null) ? own : (fromPhases(logs) ?? own);
}
