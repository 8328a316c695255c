import { largest, mean, median } from '../base/statistics.js';
import { type Ns, ns, type Share } from '../base/units.js';
import { type SharesByClass, TIME_CLASSES } from '../facts/time-class.js';
import { areRegular } from '../logs/pace.js';
import { type Bandwidth, findSlowLinks, measureBandwidth, type SlowGroup } from './collectives/bandwidth.js';
import { alignClocks, type Clocks } from './collectives/clocks.js';
import { matchCollectives } from './collectives/match.js';
import type { MatchedCollectives } from './collectives/matched.js';
import { coordinatesFromGroups } from './collectives/mesh.js';
import { type CollectiveWaits, divideWaits } from './collectives/waits.js';
import { findLateRanks } from './lateness/find-late-ranks.js';
import { knownCost, type LateRanks, lateByLinks, mayBeHidden } from './lateness/late-ranks.js';
import { LATE_SHARE, latenessOf, leastCost } from './lateness/lateness.js';
import type { CriticalPath } from './paths/critical-path.js';
import { type CriticalTime, followRun, timeIfHidden, timeOfLastRanks } from './paths/follow-run.js';
import type { PlayedRun } from './paths/what-if-ranks.js';
import { hostsByClock } from './placement/place-ranks.js';
import {
  buildTable,
  type ComparedRank,
  type RankTable,
  waitShareOf,
  waitsByStep,
} from './table/build-table.js';

export type { ComparedRank } from './table/build-table.js';

/** What the ranks of a run show together. */
export interface Comparison {
  readonly matched: MatchedCollectives;
  readonly clocks: Clocks;
  readonly waits: CollectiveWaits;
  readonly bandwidth: readonly Bandwidth[];
  /** The largest set of ranks that meet in collectives. Null: they have no step in common. */
  readonly table: RankTable | null;
  /** Worst first. */
  readonly late: readonly LateRanks[];
  /** ns of own time beyond the median rank's, by rank and step of the table. */
  readonly lateness: readonly Float64Array[];
  readonly slowGroups: readonly SlowGroup[];
  /** A step on the critical path. Waiting becomes what the rank that is waited for was doing. */
  readonly critical: CriticalTime | null;
  /** Null: it is not known when each rank did what. */
  readonly path: CriticalPath | null;
  /** The steps of all ranks, ready to replay with a change. Null: the unchanged replay does not reproduce them. */
  readonly played: PlayedRun | null;
  /** `StepTime.pace` of the ranks. 0: they have no step in common. */
  readonly pace: Ns;
  /** The part of exposed communication that is waiting for other ranks, by rank number. */
  readonly waitShare: ReadonlyMap<number, Share>;
  /** Where ranks were compared from logs: what their traces show about collectives, over fewer steps. Null: no more. */
  readonly traced: Comparison | null;
}

/** Null when fewer than two ranks have collectives, or none of them match. */
export function compareRanks(all: readonly ComparedRank[]): Comparison | null {
  const ranks = all.filter((r) => r.facts.collectives !== null);
  if (ranks.length < 2) return null;
  const inputs = ranks.map((r) => ({ rank: r.rank, collectives: r.facts.collectives! }));
  const matched = matchCollectives(inputs);
  if (matched.length === 0) return null;
  const clocks = alignClocks(inputs, matched);
  const waits = divideWaits(inputs, matched, clocks.contradicted);
  const bandwidth = measureBandwidth(matched, waits.transfer);
  const stepWaits = inputs.map((r, index) => waitsByStep(r.collectives, waits.waitOf[index]!));
  const placed = withHosts(withCoordinates(ranks, matched), clocks);
  const table = buildTable(placed, stepWaits, connectedRanks(matched));
  const { path = null, played = null } = (table && followRun(ranks, table, { matched, waits, clocks })) ?? {};
  const pace = table ? paceOf(table, ranks) : ns(0);
  const slowGroups = findSlowLinks(matched, bandwidth, table?.recorded ?? ns(0), table?.steps.length ?? 1);
  const byOwnTime = table ? withCosts(findLateRanks(table), table, waits, played) : [];
  const members = slowGroups.map(({ group, cost, usualShare }) => {
    const together = matched.groups[group]!.captured.map((index) => matched.ranks[index]!);
    return { ranks: together, saving: played?.withLink(together, usualShare) ?? cost };
  });
  const late = table ? [...byOwnTime, ...lateByLinks(table, members, byOwnTime)] : [];
  const hidden = new Set(late.filter(mayBeHidden).flatMap((l) => l.ranks));
  return {
    matched,
    clocks,
    waits,
    bandwidth,
    table,
    late: table ? late.flatMap((l) => atRunPace(l, table, pace)) : [],
    lateness: table ? latenessOf(table) : [],
    slowGroups,
    critical: table && criticalTime(table, path, hidden),
    // It goes through the late ranks, as if the others waited for all of their delay.
    path: hidden.size > 0 ? null : path,
    played,
    pace,
    waitShare: new Map(ranks.map((r, index) => [r.rank, waitShareOf(stepWaits[index]!)])),
    traced: null,
  };
}

function criticalTime(
  table: RankTable,
  path: CriticalPath | null,
  hidden: ReadonlySet<number>,
): CriticalTime {
  if (hidden.size > 0 && hidden.size < table.ranks.length) return timeIfHidden(table, hidden);
  return path ? { time: path.time, rank: path.ranks[0]!.rank } : timeOfLastRanks(table);
}

/** Coordinates from files win over those from process groups. They are not mixed, because their axes may differ. */
function withCoordinates(
  ranks: readonly ComparedRank[],
  matched: MatchedCollectives,
): readonly ComparedRank[] {
  if (ranks.some((r) => r.coordinates !== null)) return ranks;
  const inferred = coordinatesFromGroups(matched);
  return ranks.map((r, index) => ({ ...r, coordinates: inferred[index]! }));
}

/** Hosts that files name win over those that clocks suggest. */
function withHosts(ranks: readonly ComparedRank[], clocks: Clocks): readonly ComparedRank[] {
  const inferred = ranks.some((r) => r.host !== null) ? null : hostsByClock(clocks.ranks);
  return inferred ? ranks.map((r, index) => ({ ...r, host: inferred[index]! })) : ranks;
}

/** Indices of the largest set of ranks that meet in collectives, directly or through other ranks. Needs no clocks. */
function connectedRanks({ ranks, groups }: MatchedCollectives): ReadonlySet<number> {
  const setOf = ranks.map((_, index) => new Set([index]));
  for (const { captured, instances } of groups) {
    if (instances === 0) continue;
    for (const index of captured) {
      const [set, other] = [setOf[captured[0]!]!, setOf[index]!];
      if (set === other) continue;
      const [small, large] = set.size < other.size ? [set, other] : [other, set];
      for (const member of small) setOf[member] = large.add(member);
    }
  }
  return setOf.reduce((a, b) => (b.size > a.size ? b : a));
}

/** An event log knows from the starts of recorded steps how long the steps between them took. */
function paceOf(table: RankTable, ranks: readonly ComparedRank[]): Ns {
  const steps = table.rankIndices.map((index) => ranks[index]!.facts.steps);
  const isKnown = table.fromLogs && steps.some((s) => s.recorded !== mean(s.periods));
  return isKnown ? mean(steps.map((s) => s.recorded)) : table.recorded;
}

/** A delay that costs less than this share of the steps it is in is not reported: it is within the noise of real runs. */
const LEAST_COST = 0.01;

/** What late ranks cost, from a replay where there is one; delays that cost next to nothing are left out. */
function withCosts(
  late: readonly LateRanks[],
  table: RankTable,
  waits: CollectiveWaits,
  played: PlayedRun | null,
): LateRanks[] {
  const isWorthIt = ({ pattern, steps }: LateRanks, cost: number, step: number) => {
    const [inSteps, all] = [steps.length, table.steps.length];
    const isRare = pattern === 'spike' || pattern === 'periodic';
    return cost >= step * (isRare ? leastCost(inSteps, all) : (LEAST_COST * inSteps) / all);
  };
  return late.flatMap((l) => {
    if (played) {
      // Without the delay another rank may be next, or a pipeline bubble may have hidden part of it.
      const cost = l.ranks.length > 0 ? played.without(l.ranks) : ns(Math.min(l.cost, played.withoutAny));
      return isWorthIt(l, cost, played.measured) ? [{ ...l, cost }] : [];
    }
    if (!table.fromLogs) return [l];
    // Logs are not replayed. A delay may hide behind a transfer, so it costs no more than others were seen to wait for it.
    const caused = waits.ranks.filter((r) => l.ranks.includes(r.rank)).reduce((sum, r) => sum + r.caused, 0);
    const most = l.ranks.length > 0 ? ns(Math.min(l.cost, caused / table.steps.length)) : l.cost;
    if (l.ranks.length > 0 && !isWorthIt(l, most, table.recorded)) return [];
    const cost = knownCost(table, l, most);
    return most - cost < LATE_SHARE * table.recorded ? [{ ...l, cost }] : [{ ...l, cost, mayCost: most }];
  });
}

/** Time by which a recorded step is longer than the average step of the run. */
export const beyondPace = (table: RankTable, pace: number) => ns(Math.max(0, table.recorded - pace));

/**
 * The cost per step of the run, not per recorded step. Where every n-th step is recorded and those are longer than the
 * average, a rank that is late in all of them is not late in the steps between: it is periodic. Where any step may be
 * recorded, a rank that is late in most recorded steps is late in most steps.
 */
function atRunPace(late: LateRanks, table: RankTable, pace: number): LateRanks[] {
  const beyond = beyondPace(table, pace);
  if (beyond === 0 || (late.pattern === 'persistent' && !areRegular(table.steps))) return [late];
  const cost = ns(Math.max(0, late.cost - beyond));
  const most = ns((late.mayCost ?? late.cost) - beyond);
  if (most < LEAST_COST * pace) return [];
  const pattern = late.pattern === 'persistent' ? 'periodic' : late.pattern;
  return [{ ...late, cost, mayCost: late.mayCost && most, pattern }];
}

interface RankTime {
  readonly rank: number;
  readonly time: SharesByClass;
  /** In any unit. Null: not known. */
  readonly step: number | null;
}

/** The `named` ranks, then those whose time divides least like that of the others; at most `limit` of them. */
export function oddRanks(
  ranks: readonly RankTime[],
  named: readonly number[],
  limit: number,
): ReadonlySet<number> {
  const usual = TIME_CLASSES.map((name) => median(ranks.map((r) => r.time[name])));
  const usualStep = median(ranks.map((r) => r.step ?? Number.NaN));
  const oddness = ({ time, step }: RankTime) =>
    largest(TIME_CLASSES.map((name, c) => Math.abs(time[name] - usual[c]!))) +
    Math.abs((step ?? usualStep) / usualStep - 1);
  const byOddness = ranks
    .map((r) => ({ rank: r.rank, oddness: oddness(r) }))
    .sort((a, b) => b.oddness - a.oddness || a.rank - b.rank);
  const odd = new Set<number>();
  for (const rank of [...named, ...byOddness.map((r) => r.rank)]) if (odd.size < limit) odd.add(rank);
  return odd;
}
