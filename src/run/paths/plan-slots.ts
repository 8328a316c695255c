import { IS_P2P } from '../../facts/rank-collectives.js';
import { segmentBefore } from '../../facts/rank-timeline.js';
import type { PathRank } from './critical-path.js';
import type { Meetings } from './meetings.js';
import type { Progress } from './progress.js';

/** The collectives of one rank in a plan, in order of start. */
export interface SlotColumns {
  readonly length: number;
  /** Part of the segment that is over when the rank is ready for it; 0 in an exposed one, where all the rank did is done. */
  readonly after: Float64Array;
  /** Place of the collective in the plan; −1: alone, it takes as long as it took. */
  readonly collective: Int32Array;
  readonly duration: Float64Array;
  /** Slot that must have ended for it to start; −1: none. */
  readonly before: Int32Array;
  /** The same from the other side: the first that waits for a slot, and from each of them the next. */
  readonly firstBehind: Int32Array;
  readonly nextBehind: Int32Array;
}

/** Members of collective k: `rank` and `slot` from `from[k]` up to `from[k + 1]`. */
export interface PlanMembers {
  readonly from: Uint32Array;
  readonly rank: Uint32Array;
  readonly slot: Uint32Array;
}

/** A rank with the part of its records that is played. */
export interface OpenRank extends PathRank {
  readonly from: number;
  readonly to: number;
  /** Places in the timeline: from, to. */
  readonly segments: readonly [number, number];
  readonly progress: Progress;
  /** Places in the rank's columns: from, up to. */
  readonly entries: readonly [number, number];
}

/** A collective that starts so soon after the one before it in its stream was held up by it. ns. */
const HELD_UP = 10_000;

/**
 * When a rank was ready for its collectives. The device starts one when the one before it in its stream is over: then it may
 * have been ready long before. The member that came to it with the least progress was not held up, and all others were
 * ready with that progress too.
 */
export function readyTimes(
  ranks: readonly OpenRank[],
  slots: readonly SlotColumns[],
  members: PlanMembers,
  meetings: Meetings,
) {
  const startOf = (r: number, slot: number) =>
    meetings.collectives[ranks[r]!.place]!.start[ranks[r]!.entries[0] + slot]!;
  const least = new Float64Array(members.from.length - 1).fill(Number.POSITIVE_INFINITY);
  for (let k = 0; k < least.length; k++) {
    for (let m = members.from[k]!; m < members.from[k + 1]!; m++) {
      const r = members.rank[m]!;
      least[k] = Math.min(least[k]!, ranks[r]!.progress.at(startOf(r, members.slot[m]!)));
    }
  }
  return ranks.map(({ progress, place, entries }, r) => {
    const { end } = meetings.collectives[place]!;
    const { length, before, collective } = slots[r]!;
    const ready = Float64Array.from({ length }, (_, slot) => startOf(r, slot));
    for (let slot = 0; slot < length; slot++) {
      const previous = before[slot]!;
      if (previous < 0 || collective[slot]! < 0) continue;
      if (ready[slot]! - end[entries[0] + previous]! > HELD_UP) continue;
      const time = progress.timeOf(least[collective[slot]!]!);
      ready[slot] = Math.min(ready[slot]!, Math.max(ready[previous]!, time));
    }
    return ready;
  });
}

/** Slot of the collective among those before that ended last, but not after a time; −1: none. */
function lastEnded(ends: Float64Array, first: number, slot: number, time: number): number {
  let found = -1;
  for (let k = Math.max(0, slot - AT_ONCE); k < slot; k++) {
    const end = ends[first + k]!;
    if (end <= time + SAME_TIME && (found < 0 || end > ends[first + found]!)) found = k;
  }
  return found;
}

export function slotsFor(
  { place, entries, timeline }: OpenRank,
  { collectives, instanceOf }: Meetings,
  collectiveOf: Int32Array,
): SlotColumns {
  const c = collectives[place]!;
  const length = entries[1] - entries[0];
  const before = new Int32Array(length).fill(-1);
  const streams = new Map<number, number[]>();
  for (let slot = 0; slot < length; slot++) {
    const e = entries[0] + slot;
    // A communicator has a stream of its own; so has each direction of a pair.
    const key =
      c.group[e]! * PEERS + (IS_P2P[c.kind[e]!] === 1 ? 2 * (c.peer[e]! + 1) + (c.kind[e]! & 1) + 1 : 0);
    const stream = streams.get(key) ?? [];
    streams.set(key, stream);
    // Of gloo's several go on at once: the next one starts when one of them has ended.
    for (const earlier of stream.slice(-AT_ONCE)) {
      const end = c.end[entries[0] + earlier]!;
      const isLater = before[slot]! < 0 || end >= c.end[entries[0] + before[slot]!]!;
      if (end <= c.start[e]! + SAME_TIME && isLater) before[slot] = earlier;
    }
    // Right after another one, with nothing done in between: it needs what that one brought.
    if (before[slot]! < 0 && timeline.exposed[segmentBefore(timeline, c.start[e]! + 1)] === 1) {
      const last = lastEnded(c.end, entries[0], slot, c.start[e]!);
      if (last >= 0 && c.start[e]! - c.end[entries[0] + last]! <= HELD_UP) before[slot] = last;
    }
    stream.push(slot);
  }
  const [firstBehind, nextBehind] = [new Int32Array(length).fill(-1), new Int32Array(length).fill(-1)];
  before.forEach((earlier, slot) => {
    if (earlier < 0) return;
    nextBehind[slot] = firstBehind[earlier]!;
    firstBehind[earlier] = slot;
  });
  return {
    ...{ length, before, firstBehind, nextBehind, after: new Float64Array(length) },
    collective: Int32Array.from({ length }, (_, slot) => {
      const instance = instanceOf[place]![entries[0] + slot]!;
      return instance < 0 ? -1 : collectiveOf[instance]!;
    }),
    duration: Float64Array.from({ length }, (_, slot) => {
      return Math.max(0, c.end[entries[0] + slot]! - c.start[entries[0] + slot]!);
    }),
  };
}
/** More than twice the ranks anywhere. */
const PEERS = 2 ** 26;
/** Collectives of a group at once. */
const AT_ONCE = 16;
/** As far as the ends of one collective are apart. ns. */
const SAME_TIME = 1000;
