import { largest, mean } from '../../base/statistics.js';
import { type Bandwidth, measureBandwidth } from '../collectives/bandwidth.js';
import { alignClocks, type Clocks } from '../collectives/clocks.js';
import { type MatchedCollectives, type MatchInput, matchCollectives } from '../collectives/match.js';
import type { RankCollectives } from '../collectives/rank-collectives.js';
import { type CollectiveWaits, divideWaits } from '../collectives/waits.js';
import type { RankFacts } from '../rank-facts.js';
import { type TimeByClass, totals } from '../timeline/accounting.js';
import { findLateRanks, type LateRanks, latenessOf } from './late-ranks.js';
import { coordinatesFromGroups } from './mesh.js';
import type { RankTable } from './own-time.js';
import { findSlowLinks, type SlowGroup } from './slow-links.js';

export interface ComparedRank {
  readonly rank: number;
  readonly host: string | null;
  readonly coordinates: Readonly<Record<string, number>> | null;
  readonly worldSize: number | null;
  readonly facts: RankFacts;
}

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
  /** A step's time along the ranks that came last, ns by class: waiting is what the late one was doing. */
  readonly critical: { readonly time: TimeByClass; readonly rank: number } | null;
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
  const placed = ranks.map((r, place) => ({ ...r, coordinates: r.coordinates ?? inferred[place]! }));
  const bySteps = ranks.map((r, place) => waitsBySteps(r.facts.collectives!, waits.waitOf[place]!));
  const table = tableOf(placed, bySteps, comparable);
  const steps = table?.steps.length ?? 1;
  const step = table?.step ?? 0;
  return {
    ...{ matched, clocks, waits, bandwidth, table },
    late: table ? findLateRanks(table) : [],
    lateness: table ? latenessOf(table) : [],
    slowGroups: findSlowLinks(matched, bandwidth, step, steps),
    critical: table && criticalPath(table),
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

/** The same share over all steps. */
function waitShareOf(steps: ReadonlyMap<number, StepWait>): number {
  let waited = 0;
  let exposed = 0;
  for (const step of steps.values()) {
    waited += step.share * step.exposed;
    exposed += step.exposed;
  }
  return exposed > 0 ? waited / exposed : 0;
}

/** Ranks side by side over the steps they all have. */
function tableOf(
  ranks: readonly ComparedRank[],
  bySteps: readonly ReadonlyMap<number, StepWait>[],
  comparable: ReadonlySet<number>,
): RankTable | null {
  const chosen = ranks.map((r, place) => ({ ...r, place })).filter((r) => comparable.has(r.place));
  const common = commonSteps(chosen.map((r) => r.facts.steps.indices));
  if (chosen.length < 2 || common.length === 0) return null;
  const rows = chosen.map((r) => rowOf(r.facts, bySteps[r.place]!, common));
  return {
    ...{ ranks: chosen.map((r) => r.rank), hosts: chosen.map((r) => r.host), steps: common },
    coordinates: chosen.map((r) => r.coordinates),
    own: rows.map((r) => r.own),
    time: rows.map((r) => r.time),
    step: mean(rows.map((r) => r.step)),
    // Waiting is told from durations alone: no two clocks are compared.
    clockError: 0,
    phasesOnly: chosen.some((r) => r.facts.source === 'events'),
  };
}

function commonSteps(lists: readonly (readonly number[])[]): number[] {
  const [first = [], ...rest] = lists;
  const sets = rest.map((l) => new Set(l));
  return first.filter((s) => sets.every((set) => set.has(s)));
}

/**
 * A rank's own time in each step: the step less its exposed communication. Not only what it waited: an early rank sees
 * transfers bare that the late one hides behind its computing, and they are not its own doing either.
 */
function rowOf(facts: RankFacts, waits: ReadonlyMap<number, StepWait>, steps: readonly number[]) {
  const placeOf = new Map(facts.steps.indices.map((s, i) => [s, i]));
  const own = new Float64Array(steps.length);
  const time = steps.map((step, i) => {
    const place = placeOf.get(step)!;
    const inStep = waits.get(step) ?? { longest: 0, exposed: 0, share: 0 };
    const classes = facts.timePerStep[place]!;
    const period = facts.steps.periods[place]!;
    if (facts.source === 'events') {
      // What was hidden is not known, and one delay may show in several collectives: the longest wait is taken out.
      const waiting = Math.min(period, inStep.longest);
      own[i] = period - waiting;
      return totals((c) =>
        c === 'comms_wait' ? waiting : c === 'compute' ? Math.max(0, classes[c] - waiting) : classes[c],
      );
    }
    const exposed = classes.comms_transfer + classes.comms_wait + classes.idle_comms;
    const waiting = exposed * inStep.share;
    own[i] = period - exposed;
    return totals((c) => {
      if (c === 'comms_wait') return waiting;
      return c === 'comms_transfer' || c === 'idle_comms' ? classes[c] * (1 - inStep.share) : classes[c];
    });
  });
  return { own, time, step: mean(steps.map((step) => facts.steps.periods[placeOf.get(step)!]!)) };
}

/**
 * Of a rank's exposed communication in each step, the part that is waiting. A collective waits first and moves data last,
 * and what computing hides of it is its beginning: so the exposed part is transfer up to the transfer's length, and
 * waiting beyond.
 */
function waitsBySteps(collectives: RankCollectives, waitOf: Float64Array): Map<number, StepWait> {
  const sums = new Map<number, { longest: number; waited: number; exposed: number }>();
  for (let i = 0; i < collectives.length; i++) {
    const step = collectives.steps[collectives.step[i]!];
    const wait = waitOf[i]!;
    if (step === undefined || Number.isNaN(wait)) continue;
    const transfer = collectives.end[i]! - collectives.start[i]! - wait;
    const waiting = Math.min(wait, Math.max(0, collectives.exposed[i]! - transfer));
    const sum = sums.get(step) ?? { longest: 0, waited: 0, exposed: 0 };
    sums.set(step, sum);
    sum.longest = Math.max(sum.longest, wait);
    sum.waited += waiting;
    sum.exposed += collectives.exposed[i]!;
  }
  const entries = [...sums].map(([step, s]) => {
    return [
      step,
      { longest: s.longest, exposed: s.exposed, share: s.exposed > 0 ? s.waited / s.exposed : 0 },
    ] as const;
  });
  return new Map(entries);
}

interface StepWait {
  /** ns, of one collective, hidden or not. */
  readonly longest: number;
  /** ns of exposed communication, and the part of it that is waiting. */
  readonly exposed: number;
  readonly share: number;
}

/** In each step the rank that came last sets the pace: the run's time is what it did then. */
function criticalPath(table: RankTable): Comparison['critical'] {
  const last = table.steps.map((_, s) => {
    const own = table.own.map((o) => o[s]!);
    return own.indexOf(largest(own));
  });
  const time = totals((c) => (c === 'comms_wait' ? 0 : mean(last.map((r, s) => table.time[r]![s]![c]))));
  const often = [...new Set(last)].reduce((a, b) =>
    last.filter((r) => r === b).length > last.filter((r) => r === a).length ? b : a,
  );
  return { time, rank: table.ranks[often]! };
}
