import { mean } from '../base/statistics.js';
import { type Ns, ns } from '../base/units.js';
import { areRegular } from '../logs/pace.js';
import { type Bandwidth, measureBandwidth } from './collectives/bandwidth.js';
import { alignClocks, type Clocks } from './collectives/clocks.js';
import { matchCollectives } from './collectives/match.js';
import type { MatchedCollectives, MatchInput } from './collectives/matched.js';
import { coordinatesFromGroups } from './collectives/mesh.js';
import { findSlowLinks, type SlowGroup } from './collectives/slow-links.js';
import { type CollectiveWaits, divideWaits } from './collectives/waits.js';
import { findLateRanks, type LateRanks, latenessOf } from './lateness/late-ranks.js';
import type { CriticalPath } from './paths/critical-path.js';
import { alongLast, type CriticalTime, followRun } from './paths/follow-run.js';
import type { PlayedRun } from './paths/what-if-ranks.js';
import type { RankTable } from './table/own-time.js';
import { type ComparedRank, tableOf, waitShareOf, waitsBySteps } from './table/table.js';

export type { ComparedRank } from './table/table.js';

/** What several ranks together show. */
export interface Comparison {
  readonly matched: MatchedCollectives;
  readonly clocks: Clocks;
  readonly waits: CollectiveWaits;
  readonly bandwidth: readonly Bandwidth[];
  /** Ranks of the largest set that can be compared, step by step; null when they have no step in common. */
  readonly table: RankTable | null;
  readonly late: readonly LateRanks[];
  readonly lateness: readonly Float64Array[];
  readonly slowGroups: readonly SlowGroup[];
  /** A step's time along the ranks that were waited for, ns by class: waiting is what the late one was doing. */
  readonly critical: CriticalTime | null;
  /** Where it comes from: the way back through all ranks. Null: ranks' steps are known, not what they did when. */
  readonly path: CriticalPath | null;
  /** The steps, to be played with something changed. Null: playing them unchanged does not reproduce them. */
  readonly played: PlayedRun | null;
  /** ns a step over all steps, also those that a log did not record; as in the table where it is not known. */
  readonly pace: Ns;
  /** Of exposed communication, the part that is waiting for others; by rank number. */
  readonly waitShare: ReadonlyMap<number, number>;
}

/** Null when fewer than two ranks have collectives. */
export function compareRanks(all: readonly ComparedRank[]): Comparison | null {
  const ranks = all.filter((r) => r.facts.collectives !== null);
  if (ranks.length < 2) return null;
  const inputs: MatchInput[] = ranks.map((r) => ({
    ...{ rank: r.rank, worldSize: r.worldSize, collectives: r.facts.collectives! },
  }));
  const matched = matchCollectives(inputs);
  if (matched.length === 0) return null;
  const clocks = alignClocks(inputs, matched);
  const waits = divideWaits(inputs, matched, clocks.contradicted);
  const bandwidth = measureBandwidth(matched, waits.transfer);
  const comparable = connected(matched, ranks.length);
  const inferred = coordinatesFromGroups(matched);
  // What files say goes first; the two are not mixed, for their axes may be others.
  const said = ranks.some((r) => r.coordinates !== null);
  const placed = ranks.map((r, place) => ({ ...r, coordinates: said ? r.coordinates : inferred[place]! }));
  const bySteps = ranks.map((r, place) => waitsBySteps(r.facts.collectives!, waits.waitOf[place]!));
  const table = tableOf(placed, bySteps, comparable);
  const followed = table && followRun(ranks, table, { matched, waits, clocks });
  const { path = null, played = null } = followed ?? {};
  const steps = table?.steps.length ?? 1;
  const step = table?.step ?? 0;
  const pace = table ? paceOf(table, ranks) : ns(0);
  const found = table ? withCosts(findLateRanks(table), played, steps) : [];
  const late = table?.fromLogs ? found.flatMap((l) => asWaitedFor(l, waits, table)) : found;
  return {
    ...{ matched, clocks, waits, bandwidth, table },
    ...{ pace, late: table ? late.flatMap((l) => inAllSteps(l, pace, table)) : [] },
    lateness: table ? latenessOf(table) : [],
    slowGroups: findSlowLinks(matched, bandwidth, step, steps),
    ...{ path, played },
    critical: path ? { time: path.time, rank: path.ranks[0]!.rank } : table && alongLast(table),
    waitShare: new Map(ranks.map((r, place) => [r.rank, waitShareOf(bySteps[place]!)])),
  };
}

/** Places of the largest set of ranks that meet each other in collectives, directly or through others. No clock is needed. */
function connected(matched: MatchedCollectives, ranks: number): ReadonlySet<number> {
  const root = Array.from({ length: ranks }, (_, place) => place);
  const find = (place: number): number => {
    while (root[place] !== place) place = root[place] = root[root[place]!]!;
    return place;
  };
  for (const { captured, instances } of matched.groups) {
    if (instances === 0) continue;
    for (const place of captured) root[find(place)] = find(captured[0]!);
  }
  const sets = new Map<number, Set<number>>();
  for (let place = 0; place < ranks; place++) {
    const key = find(place);
    sets.set(key, (sets.get(key) ?? new Set()).add(place));
  }
  return [...sets.values()].reduce((a, b) => (b.size > a.size ? b : a));
}

/** Of the steps it is late in: a delay that costs nobody so much is nobody's concern. */
const COSTS_SOMETHING = 0.01;

/** What is saved when the run is played without a delay: another may be next, or a bubble may have hidden a part of it. */
function withCosts(late: readonly LateRanks[], played: PlayedRun | null, steps: number): LateRanks[] {
  if (!played) return [...late];
  return late
    .map((l) => (l.ranks.length > 0 ? { ...l, cost: played.without(l.ranks) } : l))
    .filter((l) => l.cost >= (COSTS_SOMETHING * played.measured * l.steps.length) / steps);
}

/**
 * Logs are not played. A rank that takes longer may hide that behind a collective that takes as long anyway: it costs no more
 * than the others were seen to wait for it.
 */
function asWaitedFor(late: LateRanks, waits: CollectiveWaits, table: RankTable): LateRanks[] {
  if (late.ranks.length === 0) return [late];
  const caused = waits.ranks.filter((r) => late.ranks.includes(r.rank)).reduce((ns, r) => ns + r.caused, 0);
  const cost = ns(Math.min(late.cost, caused / table.steps.length));
  return cost >= COSTS_SOMETHING * table.step * (late.steps.length / table.steps.length)
    ? [{ ...late, cost }]
    : [];
}

/** Logs know from when steps began how long those took that they did not record. */
function paceOf(table: RankTable, ranks: readonly ComparedRank[]): Ns {
  const steps = table.places.map((p) => ranks[p]!.facts.steps);
  const isKnown = table.fromLogs && steps.some((s) => s.profiled !== mean(s.periods));
  return isKnown ? mean(steps.map((s) => s.profiled)) : table.step;
}

/** ns by which the steps that were recorded are longer than all of them on average: a delay in them costs so much less. */
export const beyondPace = (table: RankTable, pace: number) => ns(Math.max(0, table.step - pace));

/**
 * Late whenever a step is recorded, and not in the others: it comes back, but not in every step. Where any step may be
 * recorded, who is late in most of them is so in all.
 */
function inAllSteps(late: LateRanks, pace: number, table: RankTable): LateRanks[] {
  const beyond = beyondPace(table, pace);
  if (beyond === 0 || (late.pattern === 'persistent' && !areRegular(table.steps))) return [late];
  const cost = ns(late.cost - beyond);
  if (cost < COSTS_SOMETHING * pace) return [];
  return [{ ...late, cost, pattern: late.pattern === 'persistent' ? 'periodic' : late.pattern }];
}
