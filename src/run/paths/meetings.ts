import { IS_P2P, Kind, type RankCollectives, SYNCHRONISES } from '../../facts/rank-collectives.js';
import type { MatchedCollectives } from '../collectives/matched.js';
import type { CollectiveWaits } from '../collectives/waits.js';

/** One member's part in a collective: a rank by place, its entry by place in the rank's columns. */
export interface Member {
  readonly place: number;
  readonly entry: number;
}

/** Where ranks meet, asked from a rank's own time line. Ranks by place as in the matching. */
export class Meetings {
  /** For each rank and entry the instance; −1: no other rank is known to have been there. */
  readonly instanceOf: readonly Int32Array[];
  readonly #byEnd: readonly Uint32Array[];

  constructor(
    readonly collectives: readonly RankCollectives[],
    readonly matched: MatchedCollectives,
    readonly waits: CollectiveWaits,
  ) {
    const { length, memberStart, memberRank, memberEntry } = matched;
    this.instanceOf = collectives.map((c) => new Int32Array(c.length).fill(-1));
    for (let i = 0; i < length; i++) {
      // The first of a group, and those that contradict the clocks, are not looked at.
      if (Number.isNaN(waits.transfer[i]!)) continue;
      for (let m = memberStart[i]!; m < memberStart[i + 1]!; m++)
        this.instanceOf[memberRank[m]!]![memberEntry[m]!] = i;
    }
    this.#byEnd = collectives.map((c) =>
      Uint32Array.from({ length: c.length }, (_, e) => e).sort((a, b) => c.end[a]! - c.end[b]!),
    );
  }

  /**
   * What let a rank go on at `to` after communication alone since `from`: the collective that ended last in between, or is
   * about to. −1: something else let it go on.
   */
  releasing(place: number, from: number, to: number): number {
    const { end } = this.collectives[place]!;
    const order = this.#byEnd[place]!;
    let low = 0;
    let high = order.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (end[order[middle]!]! <= to + SAME_TIME) low = middle + 1;
      else high = middle;
    }
    const last = low > 0 ? order[low - 1]! : -1;
    return last >= 0 && end[last]! > from ? last : this.#endsWith(place, low, to);
  }

  /** A collective of the host copies its result to the device before its span ends: its last part is not alone. */
  #endsWith(place: number, from: number, time: number): number {
    const { start, end, onDevice } = this.collectives[place]!;
    const order = this.#byEnd[place]!;
    for (let k = from; k < Math.min(order.length, from + LOOK_AHEAD); k++) {
      const e = order[k]!;
      if (onDevice[e] === 0 && start[e]! < time && end[e]! - time <= LAST_PART * (end[e]! - start[e]!))
        return e;
    }
    return -1;
  }

  /** The member that all others wait for. Null: this one waited for nobody, or for nobody that was captured. */
  awaited({ place, entry }: Member): Member | null {
    const instance = this.instanceOf[place]![entry]!;
    if (instance < 0 || !(this.waits.waitOf[place]![entry]! > LEAST_WAIT)) return null;
    const { kind, memberStart, memberRank, memberEntry } = this.matched;
    let found: Member | null = null;
    let shortest = Number.POSITIVE_INFINITY;
    for (let m = memberStart[instance]!; m < memberStart[instance + 1]!; m++) {
      const other = { place: memberRank[m]!, entry: memberEntry[m]! };
      const ns = this.#countsAs(kind[instance]!, other);
      if (ns >= shortest) continue;
      shortest = ns;
      found = other;
    }
    return found && found.place !== place ? found : null;
  }

  /** How early a member left after it came; of kinds that do not synchronise only the sender is waited for. */
  #countsAs(kind: number, { place, entry }: Member): number {
    const c = this.collectives[place]!;
    const duration = c.end[entry]! - c.start[entry]!;
    if (SYNCHRONISES[kind] === 1) return duration;
    const sends =
      IS_P2P[kind] === 1
        ? c.kind[entry] === Kind.send
        : (kind === Kind.broadcast || kind === Kind.scatter) && c.peer[entry] === this.matched.ranks[place];
    return sends ? duration : Number.POSITIVE_INFINITY;
  }
}

/** Ends of a collective and of the time in which it was alone are one record's, but for rounding. ns. */
const SAME_TIME = 1000;
const LAST_PART = 0.1;
/** Collectives at once. */
const LOOK_AHEAD = 8;
/** Members see an end 0.6–0.8 µs apart inside a node (method 5). ns. */
const LEAST_WAIT = 1000;
