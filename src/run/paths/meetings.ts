import { groupBy } from '../../base/group-by.js';
import { ascendingOrder, partitionPoint } from '../../base/search.js';
import { median } from '../../base/statistics.js';
import { IS_P2P, Kind, type RankCollectives, SYNCHRONIZES } from '../../facts/rank-collectives.js';
import { isWhole, type MatchedCollectives } from '../collectives/matched.js';
import type { CollectiveWaits } from '../collectives/waits.js';

/** One rank's part in a collective: indices of the rank and of the entry in its columns. */
export interface Member {
  readonly rankIndex: number;
  readonly entry: number;
}

/** The end of a collective and of the exposed time it caused are the same, but for rounding. ns. */
export const SAME_TIME = 1000;
/** A host collective may end up to this share of itself after the device went on. Our choice, for gloo. */
const LAST_PART = 0.1;
/** Collectives that may run at once: so many ends are looked at. */
const LOOK_AHEAD = 8;
/** A shorter wait is none: members see an end 0.6–0.8 µs apart inside a node. ns. */
const LEAST_WAIT = 1000;

/** A send and its receive are of the same kind. */
const alike = (kind: number, bytes: number) => `${IS_P2P[kind] === 1 ? Kind.recv : kind} ${bytes}`;

/** Which collective ended a rank's exposed communication, and which rank it waited for there. */
export class Meetings {
  /** Instance of each rank and entry; −1: unmatched or not divided. */
  readonly instanceOf: readonly Int32Array[];
  /** Usual ns of transfer by kind and bytes, from what was matched; from whole groups where there are any. */
  readonly #usual: ReadonlyMap<string, number>;
  /** Entries of each rank in order of their ends. */
  readonly #byEnd: readonly Uint32Array[];

  constructor(
    readonly collectives: readonly RankCollectives[],
    readonly matched: MatchedCollectives,
    readonly waits: CollectiveWaits,
  ) {
    const { length, memberStart, memberRank, memberEntry } = matched;
    this.instanceOf = collectives.map((c) => new Int32Array(c.length).fill(-1));
    for (let i = 0; i < length; i++) {
      if (Number.isNaN(waits.transfer[i]!)) continue;
      for (let m = memberStart[i]!; m < memberStart[i + 1]!; m++)
        this.instanceOf[memberRank[m]!]![memberEntry[m]!] = i;
    }
    const all = [...waits.transfer.keys()];
    const whole = all.filter((i) => isWhole(matched.groups[matched.group[i]!]!));
    this.#usual = new Map([...this.#mediansOf(all), ...this.#mediansOf(whole)]);
    this.#byEnd = collectives.map((c) => ascendingOrder(c.end));
  }

  #mediansOf(instances: readonly number[]): Map<string, number> {
    const { kind, bytes } = this.matched;
    const byKind = groupBy(instances, (i) => alike(kind[i]!, bytes[i]!));
    return new Map([...byKind].map(([key, of]) => [key, median(of.map((i) => this.waits.transfer[i]!))]));
  }

  /** ns that an entry takes by itself, as far as others of its kind and size tell; else what it took. */
  transferOf(rankIndex: number, entry: number): number {
    const c = this.collectives[rankIndex]!;
    return this.#atMostUsual(Math.max(0, c.end[entry]! - c.start[entry]!), c.kind[entry]!, c.bytes[entry]!);
  }

  /** ns of an instance's transfer without waiting for members that were not captured, as far as others tell. */
  transferAlone(instance: number): number {
    const { groups, group, kind, bytes } = this.matched;
    const took = this.waits.transfer[instance]!;
    return isWhole(groups[group[instance]!]!)
      ? took
      : this.#atMostUsual(took, kind[instance]!, bytes[instance]!);
  }

  #atMostUsual(took: number, kind: number, bytes: number): number {
    const usual = this.#usual.get(alike(kind, bytes)) ?? Number.NaN;
    return usual < took ? usual : took;
  }

  /** Entry that ended the exposed communication from `from` to `to`: the last one to end in it. −1: something else ended it. */
  releasing(rankIndex: number, from: number, to: number): number {
    const { end } = this.collectives[rankIndex]!;
    const byEnd = this.#byEnd[rankIndex]!;
    const ended = partitionPoint(byEnd.length, (k) => end[byEnd[k]!]! <= to + SAME_TIME);
    const last = ended > 0 ? byEnd[ended - 1]! : -1;
    return last >= 0 && end[last]! > from ? last : this.#aboutToEnd(rankIndex, ended, to);
  }

  /** A host collective copies its result to the device before its span ends, so the device goes on a little earlier. */
  #aboutToEnd(rankIndex: number, ended: number, time: number): number {
    const { start, end, onDevice } = this.collectives[rankIndex]!;
    const next = this.#byEnd[rankIndex]!.subarray(ended, ended + LOOK_AHEAD);
    const found = next.find(
      (e) => onDevice[e] === 0 && start[e]! < time && end[e]! - time <= LAST_PART * (end[e]! - start[e]!),
    );
    return found ?? -1;
  }

  /** The member that the others wait for. Null: this one waited for nobody, or for a rank that was not captured. */
  awaited({ rankIndex, entry }: Member): Member | null {
    const instance = this.instanceOf[rankIndex]![entry]!;
    if (instance < 0 || !(this.waits.waitOf[rankIndex]![entry]! > LEAST_WAIT)) return null;
    const { kind, memberStart, memberRank, memberEntry } = this.matched;
    let last: Member | null = null;
    let shortest = Number.POSITIVE_INFINITY;
    for (let m = memberStart[instance]!; m < memberStart[instance + 1]!; m++) {
      const member = { rankIndex: memberRank[m]!, entry: memberEntry[m]! };
      const duration = this.#duration(member);
      if (duration >= shortest || !this.#canHoldUp(kind[instance]!, member)) continue;
      shortest = duration;
      last = member;
    }
    return last && last.rankIndex !== rankIndex ? last : null;
  }

  #duration({ rankIndex, entry }: Member): number {
    const { start, end } = this.collectives[rankIndex]!;
    return end[entry]! - start[entry]!;
  }

  /** In kinds that do not synchronize only the sender is waited for. */
  #canHoldUp(kind: number, { rankIndex, entry }: Member): boolean {
    if (SYNCHRONIZES[kind] === 1) return true;
    const { kind: kinds, peer } = this.collectives[rankIndex]!;
    if (IS_P2P[kind] === 1) return kinds[entry] === Kind.send;
    return (
      (kind === Kind.broadcast || kind === Kind.scatter) && peer[entry] === this.matched.ranks[rankIndex]
    );
  }
}
