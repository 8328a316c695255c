import { IS_P2P, Kind, SYNCHRONIZES } from '../../facts/rank-collectives.js';
import type { MatchedCollectives, MatchInput } from './matched.js';

/** Collectives divided into waiting and transfer. ns; ranks by index, as in the matching. */
export interface CollectiveWaits {
  /** By instance: the shortest duration of a member. NaN: not divided (first of a group, contradicted by clocks). */
  readonly transfer: Float64Array;
  /** By instance: index of the rank that came last. −1: the kind does not synchronize, or two ranks came together. */
  readonly late: Int32Array;
  /** By rank and entry: ns waited. NaN: not matched, or not divided. */
  readonly waitOf: readonly Float64Array[];
  readonly ranks: readonly RankWaits[];
  /** Sums over all captured members, by index in `MatchedCollectives.groups`. */
  readonly groups: readonly DividedTime[];
}

interface DividedTime {
  readonly wait: number;
  readonly transfer: number;
  /** The parts that no computing hides. Of a partly hidden collective, the same share of both. */
  readonly exposedWait: number;
  readonly exposedTransfer: number;
}

export interface RankWaits extends DividedTime {
  readonly rank: number;
  /** Waiting that this rank caused: the longest wait in each collective that it came last to. */
  readonly caused: number;
}

/** `skip`: 1 for instances that cannot be one collective (`Clocks.contradicted`). */
export function divideWaits(
  ranks: readonly MatchInput[],
  matched: MatchedCollectives,
  skip: Uint8Array | null = null,
): CollectiveWaits {
  const { length, memberStart, memberRank, memberEntry } = matched;
  const transfer = new Float64Array(length).fill(Number.NaN);
  const late = new Int32Array(length).fill(-1);
  const waitOf = ranks.map((r) => new Float64Array(r.collectives.length).fill(Number.NaN));
  const perRank = ranks.map((r) => ({ ...nothing(), rank: r.rank, caused: 0 }));
  const groups = matched.groups.map(nothing);
  for (let i = 0; i < length; i++) {
    if (matched.first[i] === 1 || skip?.[i] === 1) continue;
    const [from, to] = [memberStart[i]!, memberStart[i + 1]!];
    const shortest = shortestOf(ranks, matched, from, to);
    // A duration of zero is a fault of the recording, and would turn all time into waiting.
    if (!(shortest.ns > 0)) continue;
    transfer[i] = shortest.ns;
    const kind = matched.kind[i]!;
    const synchronizes = SYNCHRONIZES[kind] === 1;
    let longestWait = 0;
    for (let m = from; m < to; m++) {
      const [rankIndex, entry] = [memberRank[m]!, memberEntry[m]!];
      const { rank, collectives: c } = ranks[rankIndex]!;
      const duration = c.end[entry]! - c.start[entry]!;
      const waits = synchronizes || receives(kind, c.kind[entry]!, c.peer[entry]!, rank);
      const wait = waits ? duration - shortest.ns : 0;
      waitOf[rankIndex]![entry] = wait;
      longestWait = Math.max(longestWait, wait);
      addTo(groups[matched.group[i]!]!, duration, wait, c.exposed[entry]!);
      addTo(perRank[rankIndex]!, duration, wait, c.exposed[entry]!);
    }
    if (!synchronizes || !shortest.alone) continue;
    late[i] = memberRank[shortest.member]!;
    perRank[late[i]!]!.caused += longestWait;
  }
  return { transfer, late, waitOf, ranks: perRank, groups };
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

/** In kinds that do not synchronize, only ranks that receive wait. Without a known root any rank may receive. */
function receives(kind: number, own: number, peer: number, rank: number): boolean {
  if (IS_P2P[kind] === 1) return own === Kind.recv;
  if (kind === Kind.broadcast || kind === Kind.scatter) return peer !== rank;
  return (kind === Kind.reduce || kind === Kind.gather) && (peer < 0 || peer === rank);
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
const nothing = (): Mutable<DividedTime> => ({ wait: 0, transfer: 0, exposedWait: 0, exposedTransfer: 0 });

function addTo(sum: Mutable<DividedTime>, duration: number, wait: number, exposed: number): void {
  const exposedShare = duration > 0 ? Math.min(1, exposed / duration) : 0;
  sum.wait += wait;
  sum.transfer += duration - wait;
  sum.exposedWait += wait * exposedShare;
  sum.exposedTransfer += (duration - wait) * exposedShare;
}
