import { type Ns, ns } from '../../base/units.js';
import { type RankCollectives, SYNCHRONIZES } from '../../facts/rank-collectives.js';
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
export function onReference(clock: Clock, t: number): number {
  return t + clock.shift + clock.drift * (t - clock.pivot);
}

/** A member that shares no collective with the first hub of its group may share one with another; four hubs are tried. */
const MAX_HUBS = 4;
/** Ends that are compared per group: more say nothing more. */
const ENOUGH_ENDS = 512;

/**
 * Synchronizing collectives end at the same time on all members. Ranks are compared in pairs along a tree: from a
 * reference to all ranks that it shares a group with, from those to the ranks of their other groups.
 */
export function alignClocks(ranks: readonly MatchInput[], matched: MatchedCollectives): Clocks {
  const tree = new ClockTree(ranks, matched);
  const order = [...ranks.keys()].sort((a, b) => ranks[a]!.rank - ranks[b]!.rank);
  const components = order.flatMap((index) => (tree.clocks.has(index) ? [] : [tree.grow(index)]));
  components.sort((a, b) => b.length - a.length);
  const componentOf = new Map(components.flatMap((c, i) => c.map((index) => [index, i] as const)));
  const clocks = ranks.map((_, index) => ({
    ...tree.clocks.get(index)!,
    component: componentOf.get(index)!,
  }));
  return { ranks: clocks, components, contradicted: findContradicted(ranks, matched, clocks) };
}

type Clock = Omit<RankClock, 'component'>;

class ClockTree {
  /** By rank index. */
  readonly clocks = new Map<number, Clock>();
  /** Synchronizing instances of each group. */
  readonly #instances: readonly number[][];
  /** Groups of each rank, most instances first, because those say most. */
  readonly #groupsOf: readonly number[][];

  constructor(
    readonly ranks: readonly MatchInput[],
    readonly matched: MatchedCollectives,
  ) {
    this.#instances = matched.groups.map(() => []);
    for (let i = 0; i < matched.length; i++) {
      if (SYNCHRONIZES[matched.kind[i]!] === 1) this.#instances[matched.group[i]!]!.push(i);
    }
    this.#groupsOf = ranks.map(() => []);
    const sizeOf = (g: number) => this.#instances[g]!.length;
    const bySize = [...matched.groups.keys()].sort((a, b) => sizeOf(b) - sizeOf(a));
    for (const g of bySize.filter((g) => sizeOf(g) > 0)) {
      for (const index of matched.groups[g]!.captured) this.#groupsOf[index]!.push(g);
    }
  }

  /** Gives a clock to all ranks that can be reached from `root`. Breadth first for short ways: each hop adds its error. */
  grow(root: number): number[] {
    const { rank, collectives } = this.ranks[root]!;
    const none = { shift: 0, drift: 0, pivot: 0, offset: ns(0), error: ns(0) };
    this.clocks.set(root, { rank, reference: rank, ...none });
    const reached = [root];
    if (!collectives.timed) return reached;
    const hubsOf = new Map<number, number>();
    for (const hub of reached) {
      const groups = this.#groupsOf[hub]!.filter((g) => {
        const hubs = hubsOf.get(g) ?? 0;
        const isDone = this.matched.groups[g]!.captured.every((index) => this.clocks.has(index));
        if (hubs === MAX_HUBS || isDone) return false;
        hubsOf.set(g, hubs + 1);
        return true;
      });
      for (const [index, pairs] of this.#pairsWith(hub, groups)) {
        const clock = this.#follow(hub, root, index, pairs);
        if (!clock) continue;
        this.clocks.set(index, clock);
        reached.push(index);
      }
    }
    return reached;
  }

  /** For each rank without a clock the collectives it shares with the hub, in one pass over the hub's groups. */
  #pairsWith(hub: number, groups: readonly number[]): Map<number, EndPairs> {
    const pairs = new Map<number, EndPairs>();
    const { memberStart, memberRank, memberEntry } = this.matched;
    const other = this.ranks[hub]!.collectives;
    for (const instances of groups.map((g) => this.#instances[g]!)) {
      const every = Math.max(1, instances.length / ENOUGH_ENDS);
      for (let k = 0; k < instances.length; k += every) {
        const i = instances[Math.floor(k)]!;
        const [from, to] = [memberStart[i]!, memberStart[i + 1]!];
        const own = memberRank.subarray(from, to).indexOf(hub);
        if (own < 0) continue;
        const hubEntry = memberEntry[from + own]!;
        for (let m = from; m < to; m++) {
          const [index, entry] = [memberRank[m]!, memberEntry[m]!];
          const { collectives: c } = this.ranks[index]!;
          if (this.clocks.has(index) || !c.timed) continue;
          const list = pairs.get(index) ?? { start: [], end: [], otherStart: [], otherEnd: [] };
          pairs.set(index, list);
          list.start.push(c.start[entry]!);
          list.end.push(c.end[entry]!);
          list.otherStart.push(other.start[hubEntry]!);
          list.otherEnd.push(other.end[hubEntry]!);
        }
      }
    }
    return pairs;
  }

  /** The clock of rank `index`, from its fit to the hub's. */
  #follow(hub: number, root: number, index: number, pairs: EndPairs): Clock | null {
    const toHub = fitClock(pairs);
    if (!toHub) return null;
    const { pivot } = toHub;
    const hubClock = this.clocks.get(hub)!;
    const [own, reference] = [this.ranks[index]!, this.ranks[root]!];
    const shift = onReference(hubClock, pivot + toHub.shift) - pivot;
    // Bases may differ by decades: subtract them exactly, then convert to a double.
    const bases = Number(own.collectives.baseNs - reference.collectives.baseNs);
    return {
      rank: own.rank,
      reference: reference.rank,
      shift,
      drift: (1 + toHub.drift) * (1 + hubClock.drift) - 1,
      pivot,
      offset: ns(bases - shift),
      error: ns(Math.hypot(toHub.error, hubClock.error)),
    };
  }
}

function findContradicted(
  ranks: readonly MatchInput[],
  matched: MatchedCollectives,
  clocks: readonly RankClock[],
): Uint8Array {
  const contradicted = new Uint8Array(matched.length);
  const { memberStart, memberRank, memberEntry } = matched;
  for (let i = 0; i < matched.length; i++) {
    if (SYNCHRONIZES[matched.kind[i]!] === 0) continue;
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

/** Times of a rank on the clock that the ranks of a run share. */
export interface RunClock {
  /** Times can be compared with those of other ranks to this many ns. Null: the rank shares no collective with them. */
  readonly error: number | null;
  /** `base`: what the trace's times count from, ns since 1970. `time`: ns from there. Null: no time. */
  toRun(base: bigint, time: number): bigint | null;
  /** The same for many times: ns from `origin`, which is a time on the run's clock. Never exchanges two times. */
  fromOrigin(base: bigint, origin: bigint): (time: number) => number;
}

/** Ranks that share no timed collective with others keep their own clock. */
export function runClock(
  rank: number,
  clocks: Clocks | null,
  collectivesOf: (rank: number) => RankCollectives | null,
): RunClock {
  const clock = clocks?.ranks.find((c) => c.rank === rank);
  const own = clock && collectivesOf(rank);
  const reference = clock && collectivesOf(clock.reference);
  if (!clock || !own?.timed || !reference?.timed)
    return {
      error: null,
      toRun: plus,
      fromOrigin: (base, origin) => {
        const shift = Number(base - origin);
        return (time) => Math.round(time + shift);
      },
    };
  // A rank may have several windows with bases of their own: the clock was fitted on one of them.
  return {
    error: clock.component === 0 ? clock.error : null,
    toRun: (base, time) => plus(reference.baseNs, onReference(clock, time + Number(base - own.baseNs))),
    fromOrigin: (base, origin) => {
      const [before, after] = [Number(base - own.baseNs), Number(reference.baseNs - origin)];
      return (time) => Math.round(onReference(clock, time + before) + after);
    },
  };
}

function plus(base: bigint, time: number): bigint | null {
  return Number.isFinite(time) ? base + BigInt(Math.round(time)) : null;
}
