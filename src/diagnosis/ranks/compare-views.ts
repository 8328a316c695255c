import { type Comparison, compareRanks } from '../../run/compare.js';
import { type LateRanks, mayBeHidden } from '../../run/lateness/late-ranks.js';
import { comparedRank, type RunLocations } from './locations.js';
import type { LogView, RankView } from './rank-view.js';

/** The ranks of a run side by side. */
export interface ComparedViews {
  readonly comparison: Comparison | null;
  /** What they were compared from, by rank: the event logs of all of them, or what `views` has. */
  readonly from: readonly RankView[];
}

/**
 * Compares ranks from the event logs of all of them, whether or not some have traces: a log has many steps of every rank, a
 * trace a few steps of one. Where traces of the same ranks agree on who is late, they are used, because they show more: what
 * overlaps, and when each rank did what. Else what only they know stays reachable as `Comparison.traced`.
 */
export function compareViews(views: readonly RankView[], locations: RunLocations): ComparedViews {
  const compare = (of: readonly RankView[]) => compareRanks(of.map((view) => comparedRank(view, locations)));
  const asTheyAre = { comparison: compare(views), from: views };
  if (!views.some((view) => view.source === 'trace' && view.log)) return asTheyAre;
  const logs = logsOf(views);
  const logged = compare(logs);
  const traced = asTheyAre.comparison;
  if (!logged?.table) return asTheyAre;
  if (traced?.table && (!hasMore(logged, logs, traced) || (areAlike(views) && agree(logged, traced))))
    return asTheyAre;
  return { comparison: { ...logged, traced }, from: logs };
}

/** One for each rank that has a log. */
function logsOf(views: readonly RankView[]): readonly LogView[] {
  const logs = views.flatMap((view) => (view.source === 'log' ? view : (view.log ?? [])));
  // A rank may have several traces.
  return [...new Map(logs.map((log) => [log.rank, log])).values()];
}

/** Whether the logs have all ranks of the traces, at least as many steps, and recorded collectives, not inferred ones. */
function hasMore(logged: Comparison, logs: readonly LogView[], traced: Comparison): boolean {
  const [own, other] = [logged.table!, traced.table!];
  const ranks = new Set(own.ranks);
  return (
    own.steps.length >= other.steps.length &&
    other.ranks.every((rank) => ranks.has(rank)) &&
    logs.every((log) => log.facts.collectives?.source !== 'phases')
  );
}

const areAlike = (views: readonly RankView[]) => views.every((view) => view.divided.by === view.source);

/** Whether both have the same ranks and name the same of them as late. If logs are inconclusive, traces may say either. */
function agree(logged: Comparison, traced: Comparison): boolean {
  const ranksOf = (late: readonly LateRanks[]) => new Set(late.flatMap((l) => l.ranks));
  const [inLogs, inTraces] = [ranksOf(logged.late), ranksOf(traced.late)];
  const surely = ranksOf(logged.late.filter((l) => !mayBeHidden(l)));
  return (
    logged.table!.ranks.length === traced.table!.ranks.length &&
    [...surely].every((rank) => inTraces.has(rank)) &&
    [...inTraces].every((rank) => inLogs.has(rank))
  );
}
