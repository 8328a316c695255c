import { type Ns, ns } from '../../base/units.js';
import { SYNCHRONISES } from '../../facts/rank-collectives.js';
import { type EndPairs, fitClock } from './fit-clock.js';
import type { MatchedCollectives, MatchInput } from './matched.js';

/** How one rank's clock goes against its reference's. Times in ns. */
export interface RankClock {
  readonly rank: number;
  /** Times of ranks with the same number can be compared. */
  readonly component: number;
  /** False: no collectives connect it with any other rank. */
  readonly comparable: boolean;
  /** Rank that times of this component are given in. */
  readonly reference: number;
  /** Time on the reference's trace (ns from its base) = t + shift + drift · (t − pivot), t ns from this trace's base. */
  readonly shift: number;
  readonly drift: number;
  readonly pivot: number;
  /** What this rank's clock shows beyond the reference's at the same moment, at the pivot. 0 for the reference. */
  readonly offset: Ns;
  /** Typical deviation of ends, summed over the way to the reference. Nothing below three times this is a difference. */
  readonly error: Ns;
  /** Collectives that the last step of the way rests on. */
  readonly instances: number;
}

export interface Clocks {
  readonly ranks: readonly RankClock[];
  /** Places of ranks, the largest component first. */
  readonly components: readonly (readonly number[])[];
  /** Of each instance: 1 when somebody was done before somebody else began. It is not one collective, then. */
  readonly contradicted: Uint8Array;
}

/** A clock read through a rank's map onto its reference's trace. */
export function onReference(clock: RankClock, t: number): number {
  return t + clock.shift + clock.drift * (t - clock.pivot);
}

/**
 * Ends of collectives that synchronise coincide. Ranks are compared pair by pair along a tree: from a reference to
 * everybody it shares a group with, from those on to their other groups.
 */
export function alignClocks(ranks: readonly MatchInput[], matched: MatchedCollectives): Clocks {
  const shared = instancesByGroup(ranks, matched);
  const clocks = new Array<RankClock | undefined>(ranks.length);
  const components: number[][] = [];
  const order = ranks.map((_, place) => place).sort((a, b) => ranks[a]!.rank - ranks[b]!.rank);
  for (const root of order) {
    if (clocks[root]) continue;
    const component = components.length;
    clocks[root] = {
      ...{ rank: ranks[root]!.rank, component, reference: ranks[root]!.rank },
      ...{ comparable: false, instances: 0, shift: 0, drift: 0, pivot: 0, offset: ns(0), error: ns(0) },
    };
    components.push(spread(ranks, matched, shared, clocks, root));
  }
  const sorted = components.toSorted((a, b) => b.length - a.length);
  const number = new Map(sorted.flatMap((c, i) => c.map((place) => [place, i] as const)));
  const all = clocks.map((c, place) => {
    const component = number.get(place)!;
    return { ...c!, component, comparable: sorted[component]!.length > 1 };
  });
  return { ranks: all, components: sorted, contradicted: findContradicted(ranks, matched, all) };
}

/** Groups with most collectives first: they say most. */
function instancesByGroup(ranks: readonly MatchInput[], matched: MatchedCollectives) {
  const byGroup = matched.groups.map((): number[] => []);
  for (let i = 0; i < matched.length; i++) {
    if (SYNCHRONISES[matched.kind[i]!] === 1) byGroup[matched.group[i]!]!.push(i);
  }
  const groupsOf = ranks.map((): number[] => []);
  const bySize = byGroup.map((_, g) => g).sort((a, b) => byGroup[b]!.length - byGroup[a]!.length);
  for (const g of bySize) {
    if (byGroup[g]!.length > 0) for (const place of matched.groups[g]!.captured) groupsOf[place]!.push(g);
  }
  return { byGroup, groupsOf };
}

/** Breadth first, so that ways are short: every step adds its error. */
function spread(
  ranks: readonly MatchInput[],
  matched: MatchedCollectives,
  { byGroup, groupsOf }: ReturnType<typeof instancesByGroup>,
  clocks: (RankClock | undefined)[],
  root: number,
): number[] {
  const reached = [root];
  if (!ranks[root]!.collectives.timed) return reached;
  const hubs = new Map<number, number>();
  for (let next = 0; next < reached.length; next++) {
    const hub = reached[next]!;
    const groups = groupsOf[hub]!.filter((g) => {
      const before = hubs.get(g) ?? 0;
      if (before === HUBS || matched.groups[g]!.captured.every((place) => clocks[place])) return false;
      hubs.set(g, before + 1);
      return true;
    });
    for (const [place, pairs] of pairsWith(ranks, matched, groups, byGroup, hub, clocks)) {
      const clock = follow(ranks, clocks[hub]!, root, place, pairs);
      if (!clock) continue;
      clocks[place] = clock;
      reached.push(place);
    }
  }
  return reached;
}
/** A member that shares nothing with the first hub of its group may with another one; but not all are asked. */
const HUBS = 4;
/** Ends that are compared of each group: more say nothing more. */
const ENOUGH = 512;

/** For every rank without a clock what it shares with the hub, in one pass over the hub's groups. */
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
  const columns = ranks[hub]!.collectives;
  for (const g of groups) {
    const every = Math.max(1, byGroup[g]!.length / ENOUGH);
    for (let at = 0; at < byGroup[g]!.length; at += every) {
      const i = byGroup[g]![Math.floor(at)]!;
      const [from, to] = [memberStart[i]!, memberStart[i + 1]!];
      const own = memberRank.subarray(from, to).indexOf(hub);
      if (own < 0) continue;
      const hubEntry = memberEntry[from + own]!;
      for (let m = from; m < to; m++) {
        const place = memberRank[m]!;
        const { collectives: c } = ranks[place]!;
        if (clocks[place] || !c.timed) continue;
        const list = pairs.get(place) ?? { start: [], end: [], otherStart: [], otherEnd: [] };
        pairs.set(place, list);
        list.start.push(c.start[memberEntry[m]!]!);
        list.end.push(c.end[memberEntry[m]!]!);
        list.otherStart.push(columns.start[hubEntry]!);
        list.otherEnd.push(columns.end[hubEntry]!);
      }
    }
  }
  return pairs;
}

function follow(
  ranks: readonly MatchInput[],
  hubClock: RankClock,
  root: number,
  place: number,
  pairs: EndPairs,
): RankClock | null {
  const toHub = fitClock(pairs);
  if (!toHub) return null;
  const { pivot } = toHub;
  const shift = onReference(hubClock, pivot + toHub.shift) - pivot;
  // Bases differ by seconds or by decades: subtracted exactly before they become a double.
  const bases = Number(ranks[place]!.collectives.baseNs - ranks[root]!.collectives.baseNs);
  return {
    ...{ rank: ranks[place]!.rank, component: hubClock.component, reference: ranks[root]!.rank },
    ...{ pivot, shift, offset: ns(bases - shift), instances: toHub.pairs, comparable: true },
    drift: (1 + toHub.drift) * (1 + hubClock.drift) - 1,
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
