import { IS_P2P, Kind, type RankCollectives, SYNCHRONISES } from '../../facts/rank-collectives.js';
import type { MatchedCollectives, MatchInput } from './matched.js';

/** Waiting told from transferring. Times in ns; ranks by place, as in the matching. */
export interface CollectiveWaits {
  /** Of each instance: the shortest duration over its members. NaN: not looked at (first of a group, contradicted). */
  readonly transfer: Float64Array;
  /** Of each instance: the longest wait of a member. 0 where not looked at. */
  readonly spread: Float64Array;
  /** Of each instance that synchronises: place of the rank that came last. −1: of another kind, or two came together. */
  readonly late: Int32Array;
  /** For each rank, by entry: ns waited. NaN: the entry was not matched, or not looked at. */
  readonly waitOf: readonly Float64Array[];
  readonly ranks: readonly RankWaits[];
  readonly groups: readonly GroupWaits[];
}

export interface DividedTime {
  readonly wait: number;
  readonly transfer: number;
  /** The part that no computing covers; of a collective that is partly covered, both in proportion. */
  readonly exposedWait: number;
  readonly exposedTransfer: number;
}

export interface RankWaits extends DividedTime {
  readonly rank: number;
  /** Collectives that could not be divided: unmatched, or the first of their group. */
  readonly undivided: number;
  readonly exposedUndivided: number;
  /** Synchronising collectives that were divided, and those of them that this rank came last to. */
  readonly count: number;
  readonly cameLast: number;
  /** Waiting that it caused: of each collective that it came last to the longest wait. */
  readonly caused: number;
  /** Ascending numbers; collectives outside of steps are in the sums above only. */
  readonly steps: readonly StepWaits[];
}

export interface StepWaits extends DividedTime {
  readonly step: number;
  readonly undivided: number;
  readonly count: number;
  readonly cameLast: number;
  readonly caused: number;
}

/** Sums over all captured members, by place in `MatchedCollectives.groups`. */
export interface GroupWaits extends DividedTime {
  readonly instances: number;
  /** Instances by the place of the rank that came last. */
  readonly cameLast: ReadonlyMap<number, number>;
}

/** `skip`: instances that are known not to be one collective (`Clocks.contradicted`). */
export function divideWaits(
  ranks: readonly MatchInput[],
  matched: MatchedCollectives,
  skip: Uint8Array | null = null,
): CollectiveWaits {
  const { length, memberStart, memberRank, memberEntry } = matched;
  const transfer = new Float64Array(length).fill(Number.NaN);
  const spread = new Float64Array(length);
  const late = new Int32Array(length).fill(-1);
  const waitOf = ranks.map((r) => new Float64Array(r.collectives.length).fill(Number.NaN));
  const groups = matched.groups.map(() => ({
    ...nothing(),
    instances: 0,
    cameLast: new Map<number, number>(),
  }));
  // By entry: ns that others waited for it; −1 where it did not come last.
  const causedBy = ranks.map((r) => new Float64Array(r.collectives.length).fill(-1));
  for (let i = 0; i < length; i++) {
    if (matched.first[i] === 1 || skip?.[i] === 1) continue;
    const [from, to] = [memberStart[i]!, memberStart[i + 1]!];
    const shortest = shortestOf(ranks, matched, from, to);
    // Durations of zero are faults of the recording, and would make all time waiting.
    if (!(shortest.ns > 0)) continue;
    transfer[i] = shortest.ns;
    const group = groups[matched.group[i]!]!;
    group.instances++;
    const kind = matched.kind[i]!;
    const synchronises = SYNCHRONISES[kind] === 1;
    for (let m = from; m < to; m++) {
      const place = memberRank[m]!;
      const entry = memberEntry[m]!;
      const { rank, collectives: c } = ranks[place]!;
      const duration = c.end[entry]! - c.start[entry]!;
      const waits = synchronises || receives(kind, c.kind[entry]!, c.peer[entry]!, rank);
      const wait = waits ? duration - shortest.ns : 0;
      waitOf[place]![entry] = wait;
      if (wait > spread[i]!) spread[i] = wait;
      addTo(group, duration, wait, c.exposed[entry]!);
    }
    if (!synchronises || !shortest.alone) continue;
    late[i] = memberRank[shortest.member]!;
    causedBy[late[i]!]![memberEntry[shortest.member]!] = spread[i]!;
    group.cameLast.set(late[i]!, (group.cameLast.get(late[i]!) ?? 0) + 1);
  }
  const perRank = ranks.map((r, place) => sumUp(r, waitOf[place]!, causedBy[place]!));
  return { transfer, spread, late, waitOf, ranks: perRank, groups };
}

function shortestOf(ranks: readonly MatchInput[], matched: MatchedCollectives, from: number, to: number) {
  let ns = Number.POSITIVE_INFINITY;
  let member = -1;
  let alone = true;
  for (let m = from; m < to; m++) {
    const { start, end } = ranks[matched.memberRank[m]!]!.collectives;
    const entry = matched.memberEntry[m]!;
    const duration = end[entry]! - start[entry]!;
    if (duration < ns) {
      ns = duration;
      member = m;
      alone = true;
    } else if (duration === ns) alone = false;
  }
  return { ns, member, alone };
}

/** Of kinds that do not synchronise only who receives waits. Without a known root everybody may. */
function receives(kind: number, own: number, peer: number, rank: number): boolean {
  if (IS_P2P[kind] === 1) return own === Kind.recv;
  if (kind === Kind.broadcast || kind === Kind.scatter) return peer !== rank;
  if (kind === Kind.reduce || kind === Kind.gather) return peer < 0 || peer === rank;
  // What is not known is not called waiting.
  return false;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
const nothing = (): Mutable<DividedTime> => ({ wait: 0, transfer: 0, exposedWait: 0, exposedTransfer: 0 });

const counts = () => ({ count: 0, cameLast: 0, caused: 0 });

function addTo(sum: Mutable<DividedTime>, duration: number, wait: number, exposed: number): void {
  const share = duration > 0 ? Math.min(1, exposed / duration) : 0;
  sum.wait += wait;
  sum.transfer += duration - wait;
  sum.exposedWait += wait * share;
  sum.exposedTransfer += (duration - wait) * share;
}

function sumUp({ rank, collectives: c }: MatchInput, waits: Float64Array, causedBy: Float64Array): RankWaits {
  const total = { ...nothing(), undivided: 0, exposedUndivided: 0, ...counts() };
  const steps = c.steps.map((step) => ({ step, ...nothing(), undivided: 0, ...counts() }));
  for (let i = 0; i < c.length; i++) {
    const duration = Math.max(0, c.end[i]! - c.start[i]!);
    const step = c.step[i]! < 0 ? null : steps[c.step[i]!]!;
    if (Number.isNaN(waits[i]!)) {
      total.undivided += duration;
      total.exposedUndivided += c.exposed[i]!;
      if (step) step.undivided += duration;
      continue;
    }
    addEntry(total, c, i, waits[i]!, causedBy[i]!);
    if (step) addEntry(step, c, i, waits[i]!, causedBy[i]!);
  }
  return { rank, ...total, steps };
}

function addEntry(
  sum: Mutable<DividedTime> & ReturnType<typeof counts>,
  c: RankCollectives,
  i: number,
  wait: number,
  caused: number,
): void {
  addTo(sum, c.end[i]! - c.start[i]!, wait, c.exposed[i]!);
  if (SYNCHRONISES[c.kind[i]!] === 0) return;
  sum.count++;
  if (caused < 0) return;
  sum.cameLast++;
  sum.caused += caused;
}
