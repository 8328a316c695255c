import { groupBy } from '../../base/group-by.js';
import { largest, mean, median, smallest } from '../../base/statistics.js';
import { type Ns, ns } from '../../base/units.js';
import { byCause, CAUSES, type RankTable } from '../table/build-table.js';
import type { LateCause, LateRanks } from './late-ranks.js';
import {
  binomialTail,
  LATE_SHARE,
  LATE_Z,
  type LatenessSpread,
  latenessOf,
  leastCost,
  logChoose,
  MAX_CHANCE,
  MOST_STEPS,
  roundConfidence,
  spreadOf,
} from './lateness.js';
import { patternOf } from './single-rank.js';

/** A group is named instead of single ranks where it costs this many times what the worst of them costs alone. Our choice. */
const GROUP_COSTS_MORE = 1.5;

/**
 * Who is late, in what pattern, why, and what it costs. The first of these that applies: a whole host or stage; several
 * ranks that are equally late; a different rank in each step; single ranks. Empty when nobody is late.
 */
export function findLateRanks(table: RankTable): LateRanks[] {
  if (table.ranks.length < 2 || table.steps.length < 1) return [];
  const lateness = latenessOf(table);
  const locations = lateLocations(table, lateness);
  if (locations.length > 0) return locations.map((l) => ({ ...l, cause: causeOf(table, l.ranks, null) }));
  const spread = spreadOf(table, lateness);
  const single = singleRanks(table, spread);
  const group = lateGroup(table, spread);
  if (group && group.cost > GROUP_COSTS_MORE * largest([0, ...single.map((l) => l.cost)]))
    return [
      {
        ...group,
        pattern: 'persistent',
        cause: causeOf(table, group.ranks, group.steps),
        location: null,
        steps: group.steps.map((s) => table.steps[s]!),
      },
    ];
  // Before single ranks: where ranks take turns, one of them may look periodic by chance.
  const rotating = single.some((l) => l.pattern === 'persistent') ? null : rotation(table, spread);
  return rotating ? [rotating] : single;
}

/** What recurs comes before what happened once: a spike costs the few recorded steps more than it costs the run. */
function singleRanks(table: RankTable, spread: LatenessSpread): LateRanks[] {
  const isSpike = ({ pattern }: LateRanks) => Number(pattern === 'spike');
  return table.ranks
    .flatMap((rank, r): LateRanks[] => {
      const found = patternOf(table, spread, r);
      if (!found) return [];
      const steps = found.steps.map((s) => table.steps[s]!);
      const cause = causeOf(table, [rank], found.steps);
      return [{ ...found, ranks: [rank], cause, cost: costOf(table, r), location: null, steps }];
    })
    .filter((late) => late.cost >= leastCost(late.steps.length, table.steps.length) * table.recorded)
    .sort((a, b) => isSpike(a) - isSpike(b) || b.cost - a.cost);
}

/** Time per step that the run would save if this rank were as fast as the next slowest. */
function costOf({ own, steps }: RankTable, r: number): Ns {
  const saved = steps.map((_, s) => {
    const others = largest(own.filter((_, other) => other !== r).map((o) => o[s]!));
    return Math.max(0, own[r]![s]! - others);
  });
  return ns(mean(saved));
}

/** An excess below this share of the step names no cause: it is within the noise. */
const LEAST_EXCESS = 0.01;

/** The cause in which the late ranks exceed the median of the others most. `steps`: indices; null: all. */
function causeOf(table: RankTable, late: readonly number[], steps: readonly number[] | null): LateCause {
  const counted = steps ?? [...table.steps.keys()];
  const totals = table.ranks.map((_, r) => {
    const sum = { data: 0, gpu: 0, compile: 0, host: 0 };
    for (const s of counted) {
      const own = byCause(table.time[r]![s]!, table.inputCopies[r]!);
      for (const c of CAUSES) sum[c] += own[c] / counted.length;
    }
    return sum;
  });
  const isLate = table.ranks.map((rank) => late.includes(rank));
  const excess = CAUSES.map((cause) => {
    const ofLate = mean(totals.filter((_, r) => isLate[r]).map((t) => t[cause]));
    return { cause, ns: ofLate - median(totals.filter((_, r) => !isLate[r]).map((t) => t[cause])) };
  });
  const most = excess.reduce((a, b) => (b.ns > a.ns ? b : a));
  if (table.onlyInputKnown && most.cause !== 'data') return 'unknown';
  return most.ns > LEAST_EXCESS * table.recorded ? most.cause : 'unknown';
}

/** All ranks of one host, or at one coordinate of a mesh axis, are late together. */
interface LateLocation {
  readonly pattern: 'host' | 'stage';
  /** `node-3`, `pp 1`, or both: `pp 1 (node-3)`. */
  readonly location: string;
  readonly ranks: readonly number[];
  readonly cost: Ns;
  readonly confidence: number;
  /** Numbers of the steps. */
  readonly steps: readonly number[];
}

/** Share of the variance between ranks that the location must explain. Our choice; tested on simulated meshes. */
const LEAST_EXPLAINED = 0.8;
/** A location needs two ranks, and another location to compare it with. */
const LEAST_RANKS = 2;
const LEAST_LOCATIONS = 2;

/** Stages of a pipeline do different work by design; ranks along other axes do the same work. */
const PIPELINE = /^(?:pp|pipe|pipeline|stage)/i;

/**
 * Hosts and mesh coordinates whose ranks are late together. Where a host holds exactly the ranks of a coordinate, nothing
 * tells which of the two is to blame: an uneven stage for pipelines, a slow host otherwise. Both are named.
 */
function lateLocations(table: RankTable, lateness: readonly Float64Array[]): LateLocation[] {
  const host = lateHost(table, lateness);
  const stage = lateStage(table, lateness);
  if (!host || !stage || host.ranks.join() !== stage.ranks.join())
    return [host, stage].filter((found) => found !== null);
  const [first, second] = PIPELINE.test(stage.location) ? [stage, host] : [host, stage];
  return [{ ...first, location: `${first.location} (${second.location})` }];
}

function lateHost(table: RankTable, lateness: readonly Float64Array[]): LateLocation | null {
  if (table.hosts.includes(null)) return null;
  return lateLocation(table, lateness, 'host', table.hosts as readonly string[]);
}

/** On the first mesh axis that has a late coordinate. */
function lateStage(table: RankTable, lateness: readonly Float64Array[]): LateLocation | null {
  for (const axis of Object.keys(table.coordinates[0] ?? {})) {
    const locations = table.coordinates.map((c) => `${axis} ${c?.[axis] ?? '?'}`);
    const found = lateLocation(table, lateness, 'stage', locations);
    if (found) return found;
  }
  return null;
}

/** `locations`: of each rank. */
function lateLocation(
  table: RankTable,
  lateness: readonly Float64Array[],
  pattern: 'host' | 'stage',
  locations: readonly string[],
): LateLocation | null {
  const means = lateness.map((l) => mean([...l]));
  const groups = groupBy(means.keys(), (r) => locations[r]!);
  if (groups.size < LEAST_LOCATIONS || [...groups.values()].some((g) => g.length < LEAST_RANKS)) return null;
  const meanOf = (members: readonly number[]) => mean(members.map((r) => means[r]!));
  const [location, members] = [...groups].reduce((a, b) => (meanOf(b[1]) > meanOf(a[1]) ? b : a));
  const inside = members.map((r) => means[r]!);
  const outside = means.filter((_, r) => !members.includes(r));
  // Each of its ranks must be later than every other rank.
  if (smallest(inside) - largest(outside) < LATE_SHARE * table.recorded) return null;
  if (explainedShare(means, [...groups.values()]) < LEAST_EXPLAINED) return null;
  return {
    pattern,
    location,
    ranks: members.map((r) => table.ranks[r]!),
    cost: ns(median(inside) - median(outside)),
    confidence: 0.85,
    steps: table.steps,
  };
}

/** Share of the variance of values that is between groups (of indices). */
function explainedShare(values: readonly number[], groups: readonly (readonly number[])[]): number {
  const all = mean(values);
  const total = values.reduce((sum, v) => sum + (v - all) ** 2, 0);
  const between = groups.reduce(
    (sum, group) => sum + group.length * (mean(group.map((i) => values[i]!)) - all) ** 2,
    0,
  );
  return total > 0 ? between / total : 0;
}

/** Ranks that are late together in most steps, on whatever hosts. */
interface LateGroup {
  readonly ranks: readonly number[];
  readonly cost: Ns;
  readonly confidence: number;
  /** Indices of the steps in which each of them was later than all other ranks. */
  readonly steps: readonly number[];
}

/**
 * Ranks that are equally late hide each other: repairing one of them gains nothing, and where they are many the median
 * rank is one of them. The widest gap between neighbors in lateness separates them from the rest, up to half of all ranks.
 */
function lateGroup(table: RankTable, { lateness, floor }: LatenessSpread): LateGroup | null {
  const usual = lateness.map((l) => median(l));
  const order = [...usual.keys()].sort((a, b) => usual[b]! - usual[a]!);
  const gapAfter = (count: number) => usual[order[count - 1]!]! - usual[order[count]!]!;
  let size = 1;
  for (let k = 2; k <= order.length / 2; k++) if (gapAfter(k) > gapAfter(size)) size = k;
  if (size < 2 || gapAfter(size) < Math.max(LATE_SHARE * table.recorded, LATE_Z * floor)) return null;
  const [late, others] = [order.slice(0, size), order.slice(size)];
  const steps = [...table.steps.keys()].filter(
    (s) => smallest(late.map((r) => lateness[r]![s]!)) > largest(others.map((r) => lateness[r]![s]!)),
  );
  const share = steps.length / table.steps.length;
  if (share < MOST_STEPS) return null;
  const sets = Math.exp(logChoose(order.length, size));
  const chance = sets * binomialTail(table.steps.length, steps.length, 1 / sets);
  if (chance > MAX_CHANCE) return null;
  const slowest = (ranks: readonly number[], s: number) => largest(ranks.map((r) => table.own[r]![s]!));
  return {
    ranks: late.map((r) => table.ranks[r]!).sort((a, b) => a - b),
    cost: ns(mean(table.steps.map((_, s) => Math.max(0, slowest(late, s) - slowest(others, s))))),
    confidence: roundConfidence((1 - chance) * (0.6 + 0.3 * share)),
    steps,
  };
}

/**
 * Share of the steps in which some rank must be late. Healthy ranks on shared cores show that in 22 to 67% of their steps
 * (five runs of the zoo), ranks that take turns in 91%.
 */
const NEARLY_ALL_STEPS = 0.75;
/** Where this share of the step is lost, most steps are enough: ranks that took turns showed it in 6 of 9 traced steps. */
const LARGE_LOSS = 0.25;
/**
 * Least entropy of the losses by rank, as a share of the largest possible: half of eight ranks, or two of three, lose equally. In a
 * few steps only so many of a thousand ranks can take turns.
 */
const LEAST_EVENNESS = 0.6;
const LEAST_ROTATING_STEPS = 4;
const LEAST_ROTATING_RANKS = 3;

/** Some rank is late in nearly every step, but not always the same: uneven data or experts, not a bad rank. */
function rotation(table: RankTable, { lateness, inSteps }: LatenessSpread): LateRanks | null {
  if (table.steps.length < LEAST_ROTATING_STEPS || table.ranks.length < LEAST_ROTATING_RANKS) return null;
  const steps = table.steps.map((_, step) => {
    const inStep = lateness.map((l) => l[step]!);
    const worst = largest(inStep);
    const last = inStep.indexOf(worst);
    const others = inStep.filter((_, r) => r !== last);
    const next = largest(others);
    // One rank is late and the others arrive together. On shared cores they arrive early and late by as much.
    const isAlone = worst - next > next - smallest(others);
    return { step, last, loss: worst, isLate: isAlone && worst / inSteps[step]!.deviation > LATE_Z };
  });
  const loss = mean(steps.map((s) => s.loss));
  const late = steps.filter((s) => s.isLate);
  const leastShare = loss >= LARGE_LOSS * table.recorded ? MOST_STEPS : NEARLY_ALL_STEPS;
  if (loss < LATE_SHARE * table.recorded || late.length < leastShare * table.steps.length) return null;
  const lossOf = (r: number) => late.filter((s) => s.last === r).reduce((sum, s) => sum + s.loss, 0);
  const most = Math.min(table.ranks.length, table.steps.length);
  if (
    evenness(
      table.ranks.map((_, r) => lossOf(r)),
      most,
    ) < LEAST_EVENNESS
  )
    return null;
  const causes = groupBy(late, (s) => causeOf(table, [table.ranks[s.last]!], [s.step]));
  return {
    ranks: [],
    pattern: 'rotating',
    cause: [...causes].reduce((a, b) => (b[1].length > a[1].length ? b : a))[0],
    cost: ns(loss),
    confidence: Math.min(0.9, 0.5 + 0.05 * late.length),
    location: null,
    steps: table.steps,
  };
}

/** Entropy as a share of the largest possible. 0: one has all; 1: `most` of them have the same. */
function evenness(amounts: readonly number[], most: number): number {
  const sum = amounts.reduce((a, b) => a + b, 0);
  const shares = amounts.filter((a) => a > 0).map((a) => a / sum);
  return shares.reduce((entropy, share) => entropy - share * Math.log(share), 0) / Math.log(most);
}
