import { type Ns, ns } from '../../base/units.js';
import { SYNCHRONISES } from '../../facts/rank-collectives.js';
import { type EndPairs, fitClock } from './fit-clock.js';
import type { MatchedCollectives, MatchInput } from './matched.js';

/** One rank's clock against that of a reference rank. ns. */
export interface RankClock {
  readonly rank: number;
  /** Times of ranks in the same component can be compared. 0 is the largest component. */
  readonly component: number;
  /** The rank on whose clock the times of this component are given. */
  readonly reference: number;
  /** Time in the reference's trace = t + shift + drift · (t − pivot). Both count from the base of their own trace. */
  readonly shift: number;
  readonly drift: number;
  readonly pivot: number;
  /** How far this rank's clock is ahead of the reference's, at the pivot. 0 for the reference. */
  readonly offset: Ns;
  /** Typical deviation of ends, summed along the way to the reference. Differences below three times this mean nothing. */
  readonly error: Ns;
}

export interface Clocks {
  readonly ranks: readonly RankClock[];
  /** Indices of ranks, the largest component first. */
  readonly components: readonly (readonly number[])[];
  /** By instance: 1 when one member ended before another began, so it cannot be one collective. */
  readonly contradicted: Uint8Array;
}

/** A time of a rank on its reference's clock. */
export function onReference(clock: RankClock, t: number): number {
  return t + clock.shift + clock.drift * (t - clock.pivot);
}

/** A member that shares no collective with the first hub of its group may share one with another; four hubs are tried. */
const MAX_HUBS = 4;
/** Ends that are compared per group: more say nothing more. */
const ENOUGH_ENDS = 512;

/**
 * Synchronising collectives end at the same time on all members. Ranks are compared in pairs along a tree: from a
 * reference to all ranks that it shares a group with, from those to the ranks of their other groups.
 */
export function alignClocks(ranks: readonly MatchInput[], matched: MatchedCollectives): Clocks {
  const shared = instancesByGroup(ranks, matched);
  const clocks = new Array<RankClock | undefined>(ranks.length);
  const components: number[][] = [];
  const order = [...ranks.keys()].sort((a, b) => ranks[a]!.rank - ranks[b]!.rank);
  for (const root of order) {
    if (clocks[root]) continue;
    clocks[root] = {
      rank: ranks[root]!.rank,
      component: 0,
      reference: ranks[root]!.rank,
      shift: 0,
      drift: 0,
      pivot: 0,
      offset: ns(0),
      error: ns(0),
    };
    components.push(reach(ranks, matched, shared, clocks, root));
  }
  components.sort((a, b) => b.length - a.length);
  const componentOf = new Map(components.flatMap((c, i) => c.map((index) => [index, i] as const)));
  const all = clocks.map((c, index) => ({ ...c!, component: componentOf.get(index)! }));
  return { ranks: all, components, contradicted: findContradicted(ranks, matched, all) };
}

/** `byGroup`: synchronising instances. `groupsOf`: groups of each rank, most instances first, because those say most. */
function instancesByGroup(ranks: readonly MatchInput[], matched: MatchedCollectives) {
  const byGroup = matched.groups.map((): number[] => []);
  for (let i = 0; i < matched.length; i++) {
    if (SYNCHRONISES[matched.kind[i]!] === 1) byGroup[matched.group[i]!]!.push(i);
  }
  const groupsOf = ranks.map((): number[] => []);
  const bySize = [...byGroup.keys()].sort((a, b) => byGroup[b]!.length - byGroup[a]!.length);
  for (const g of bySize) {
    if (byGroup[g]!.length > 0) for (const index of matched.groups[g]!.captured) groupsOf[index]!.push(g);
  }
  return { byGroup, groupsOf };
}

/** Gives a clock to all ranks that can be reached from `root`. Breadth first for short ways: each hop adds its error. */
function reach(
  ranks: readonly MatchInput[],
  matched: MatchedCollectives,
  { byGroup, groupsOf }: ReturnType<typeof instancesByGroup>,
  clocks: (RankClock | undefined)[],
  root: number,
): number[] {
  const reached = [root];
  if (!ranks[root]!.collectives.timed) return reached;
  const hubsOf = new Map<number, number>();
  for (const hub of reached) {
    const groups = groupsOf[hub]!.filter((g) => {
      const hubs = hubsOf.get(g) ?? 0;
      if (hubs === MAX_HUBS || matched.groups[g]!.captured.every((index) => clocks[index])) return false;
      hubsOf.set(g, hubs + 1);
      return true;
    });
    for (const [index, pairs] of pairsWith(ranks, matched, groups, byGroup, hub, clocks)) {
      const clock = follow(ranks, clocks[hub]!, root, index, pairs);
      if (!clock) continue;
      clocks[index] = clock;
      reached.push(index);
    }
  }
  return reached;
}

/** For each rank without a clock the collectives it shares with the hub, in one pass over the hub's groups. */
function pairsWith(
  ranks: readonly MatchInput[],
  matched: MatchedCollectives,
  groups: readonly number[],
  byGroup: readonly (readonly number[])[],
  hub: number,
  clocks: readonly (RankClock | undefined)[],
): Map<number, EndPairs> {
  const pairs = new Map<number, EndPairs>();
  const { memberStart, memberRank, memberEntry } = matched;
  const hubColumns = ranks[hub]!.collectives;
  for (const g of groups) {
    const every = Math.max(1, byGroup[g]!.length / ENOUGH_ENDS);
    for (let at = 0; at < byGroup[g]!.length; at += every) {
      const i = byGroup[g]![Math.floor(at)]!;
      const [from, to] = [memberStart[i]!, memberStart[i + 1]!];
      const own = memberRank.subarray(from, to).indexOf(hub);
      if (own < 0) continue;
      const hubEntry = memberEntry[from + own]!;
      for (let m = from; m < to; m++) {
        const index = memberRank[m]!;
        const { collectives: c } = ranks[index]!;
        if (clocks[index] || !c.timed) continue;
        const list = pairs.get(index) ?? { start: [], end: [], otherStart: [], otherEnd: [] };
        pairs.set(index, list);
        list.start.push(c.start[memberEntry[m]!]!);
        list.end.push(c.end[memberEntry[m]!]!);
        list.otherStart.push(hubColumns.start[hubEntry]!);
        list.otherEnd.push(hubColumns.end[hubEntry]!);
      }
    }
  }
  return pairs;
}

/** The clock of rank `index` from its fit to the hub's. */
function follow(
  ranks: readonly MatchInput[],
  hubClock: RankClock,
  root: number,
  index: number,
  pairs: EndPairs,
): RankClock | null {
  const toHub = fitClock(pairs);
  if (!toHub) return null;
  const { pivot } = toHub;
  const shift = onReference(hubClock, pivot + toHub.shift) - pivot;
  // Bases may differ by decades: subtract them exactly, then convert to a double.
  const bases = Number(ranks[index]!.collectives.baseNs - ranks[root]!.collectives.baseNs);
  return {
    rank: ranks[index]!.rank,
    component: 0,
    reference: ranks[root]!.rank,
    shift,
    drift: (1 + toHub.drift) * (1 + hubClock.drift) - 1,
    pivot,
    offset: ns(bases - shift),
    error: ns(Math.hypot(toHub.error, hubClock.error)),
  };
}

function findContradicted(
  ranks: readonly MatchInput[],
  matched: MatchedCollectives,
  clocks: readonly RankClock[],
): Uint8Array {
  const contradicted = new Uint8Array(matched.length);
  const { memberStart, memberRank, memberEntry } = matched;
  for (let i = 0; i < matched.length; i++) {
    if (SYNCHRONISES[matched.kind[i]!] === 0) continue;
    let [latestStart, firstEnd, error] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, 0];
    const component = clocks[memberRank[memberStart[i]!]!]!.component;
    for (let m = memberStart[i]!; m < memberStart[i + 1]!; m++) {
      const clock = clocks[memberRank[m]!]!;
      const { start, end, timed } = ranks[memberRank[m]!]!.collectives;
      if (clock.component !== component || !timed) continue;
      latestStart = Math.max(latestStart, onReference(clock, start[memberEntry[m]!]!));
      firstEnd = Math.min(firstEnd, onReference(clock, end[memberEntry[m]!]!));
      error = Math.max(error, clock.error);
    }
    if (latestStart > firstEnd + 3 * error) contradicted[i] = 1;
  }
  return contradicted;
}
