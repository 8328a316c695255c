import { partitionPoint } from '../../base/search.js';
import { IS_P2P } from '../../facts/rank-collectives.js';
import { segmentBefore } from '../../facts/rank-timeline.js';
import { TIME_CLASSES } from '../../facts/time-class.js';
import type { PathRank } from './critical-path.js';
import { type Meetings, SAME_TIME } from './meetings.js';

const CLASSES = TIME_CLASSES.length;
const COMPUTE = TIME_CLASSES.indexOf('compute');

/**
 * How far a rank is with its work: the step index plus the part of that step's computing that is done. Ranks that run the
 * same program reach the same collective with the same progress, however late they are.
 */
export class Progress {
  readonly #rank: PathRank;
  readonly #first: number;
  /** At the bounds of segments; never decreasing. */
  readonly #done: Float64Array;

  /** Over segments `first` to `last` of the timeline, which hold common steps `fromStep` to `toStep`. */
  constructor(rank: PathRank, first: number, last: number, [fromStep, toStep]: readonly [number, number]) {
    const { timeline, steps } = rank;
    this.#rank = rank;
    this.#first = first;
    const compute = (i: number) => timeline.classes[i * CLASSES + COMPUTE]!;
    this.#done = new Float64Array(Math.max(0, last - first + 1) + 1);
    let i = first;
    for (let s = fromStep; s <= toStep; s++) {
      const to = timeline.stepTo[steps[s]!]!;
      const begin = i;
      let all = 0;
      for (; i <= last && (s === toStep || timeline.start[i]! < to); i++) all += compute(i);
      let sum = 0;
      for (let j = begin; j < i; j++) {
        sum += compute(j);
        this.#done[j - first + 1] = s + (all > 0 ? sum / all : 0);
      }
    }
  }

  at(time: number): number {
    const { start, end } = this.#rank.timeline;
    const segment = segmentBefore(this.#rank.timeline, time);
    const i = segment - this.#first;
    if (i < 0) return 0;
    if (i + 1 >= this.#done.length) return this.#done.at(-1) ?? 0;
    const [before, after] = [this.#done[i]!, this.#done[i + 1]!];
    const share = (time - start[segment]!) / (end[segment]! - start[segment]! || 1);
    return before + (after - before) * Math.min(1, share);
  }

  /** The first time with this progress; Infinity: never. */
  timeOf(progress: number): number {
    const { start, end } = this.#rank.timeline;
    const segments = this.#done.length - 1;
    const i = partitionPoint(segments, (k) => this.#done[k + 1]! < progress);
    if (i >= segments) return Number.POSITIVE_INFINITY;
    const [before, after] = [this.#done[i]!, this.#done[i + 1]!];
    const segment = this.#first + i;
    const share = after > before ? (progress - before) / (after - before) : 0;
    return start[segment]! + Math.min(1, Math.max(0, share)) * (end[segment]! - start[segment]!);
  }
}

/** The collectives of one rank in a plan, in order of start. ns. */
export interface SlotColumns {
  readonly length: number;
  /** Part of its segment that is over when the rank is ready for it; 0 in an exposed segment, where no own work is left. */
  readonly after: Float64Array;
  /** Index of the collective in the plan. −1: not shared; it takes its recorded duration. */
  readonly collective: Int32Array;
  readonly duration: Float64Array;
  /** Of one that is not shared: without waiting for members that were not captured, as far as that is known. */
  readonly alone: Float64Array;
  /** Slot that must end before it starts; −1: none. */
  readonly before: Int32Array;
  /** The inverse of `before`: the first slot that waits for a slot, and the next one that waits for the same; −1: none. */
  readonly firstBehind: Int32Array;
  readonly nextBehind: Int32Array;
}

/** Members of collective k: `rank` and `slot` from `from[k]` up to `from[k + 1]`. */
export interface PlanMembers {
  readonly from: Uint32Array;
  readonly rank: Uint32Array;
  readonly slot: Uint32Array;
}

/** A rank and the part of its records that is replayed. */
export interface OpenRank extends PathRank {
  readonly from: number;
  readonly to: number;
  /** Index of the first and the last segment in the timeline. */
  readonly segments: readonly [number, number];
  readonly progress: Progress;
  /** Indices in the rank's collectives: from, up to. */
  readonly entries: readonly [number, number];
}

/** A collective that starts this soon after the one before it in its stream was queued behind it. ns; a launch takes less. */
const QUEUED = 10_000;
/** Collectives of a group that may run at once (gloo): so many earlier ones are looked at. */
const AT_ONCE = 16;
/** More than twice the ranks of any job, to make one number of group and peer. */
const PEERS = 2 ** 26;

/**
 * When each rank was ready for its collectives. A collective that was queued behind another one in its stream may have been
 * ready long before it started. All ranks run the same program, so it was ready with the progress of the member that
 * came to it with the least.
 */
export function readyTimes(
  ranks: readonly OpenRank[],
  slots: readonly SlotColumns[],
  members: PlanMembers,
  meetings: Meetings,
) {
  const startOf = (r: number, slot: number) =>
    meetings.collectives[ranks[r]!.rankIndex]!.start[ranks[r]!.entries[0] + slot]!;
  const least = new Float64Array(members.from.length - 1).fill(Number.POSITIVE_INFINITY);
  for (let k = 0; k < least.length; k++) {
    for (let m = members.from[k]!; m < members.from[k + 1]!; m++) {
      const r = members.rank[m]!;
      least[k] = Math.min(least[k]!, ranks[r]!.progress.at(startOf(r, members.slot[m]!)));
    }
  }
  return ranks.map(({ progress, rankIndex, entries }, r) => {
    const { end } = meetings.collectives[rankIndex]!;
    const { length, before, collective } = slots[r]!;
    const ready = new Float64Array(length);
    for (let slot = 0; slot < length; slot++) ready[slot] = startOf(r, slot);
    for (let slot = 0; slot < length; slot++) {
      const previous = before[slot]!;
      if (previous < 0 || collective[slot]! < 0) continue;
      if (ready[slot]! - end[entries[0] + previous]! > QUEUED) continue;
      const time = progress.timeOf(least[collective[slot]!]!);
      ready[slot] = Math.min(ready[slot]!, Math.max(ready[previous]!, time));
    }
    return ready;
  });
}

/** Of the last few of `count` slots the one that ended last before `start`; of equal ends the last. `slots` null: all slots. */
function lastEnded(
  ends: Float64Array,
  start: number,
  slots: readonly number[] | null,
  count: number,
): number {
  let last = -1;
  for (let k = Math.max(0, count - AT_ONCE); k < count; k++) {
    const slot = slots ? slots[k]! : k;
    const isLater = last < 0 || ends[slot]! >= ends[last]!;
    if (isLater && ends[slot]! <= start + SAME_TIME) last = slot;
  }
  return last;
}

/** `collectiveOf`: index in the plan of each instance; −1: not shared. */
export function slotsFor(
  { rankIndex, entries: [first, end], timeline }: OpenRank,
  meetings: Meetings,
  collectiveOf: Int32Array,
): SlotColumns {
  const { collectives, instanceOf } = meetings;
  const c = collectives[rankIndex]!;
  const length = end - first;
  const before = new Int32Array(length).fill(-1);
  const streams = new Map<number, number[]>();
  const ends = c.end.subarray(first, end);
  for (let slot = 0; slot < length; slot++) {
    const e = first + slot;
    const start = c.start[e]!;
    // A communicator has a stream of its own; so has each direction between two ranks.
    const direction = IS_P2P[c.kind[e]!] === 1 ? 2 * (c.peer[e]! + 1) + (c.kind[e]! & 1) + 1 : 0;
    const key = c.group[e]! * PEERS + direction;
    const stream = streams.get(key) ?? [];
    streams.set(key, stream);
    before[slot] = lastEnded(ends, start, stream, stream.length);
    // Right after a collective of another stream, with no work in between: it needs what that one delivered.
    if (before[slot]! < 0 && timeline.exposed[segmentBefore(timeline, start + 1)] === 1) {
      const last = lastEnded(ends, start, null, slot);
      if (last >= 0 && start - c.end[first + last]! <= QUEUED) before[slot] = last;
    }
    stream.push(slot);
  }
  const collective = new Int32Array(length);
  const duration = new Float64Array(length);
  const alone = new Float64Array(length);
  for (let slot = 0; slot < length; slot++) {
    const e = first + slot;
    const instance = instanceOf[rankIndex]![e]!;
    collective[slot] = instance < 0 ? -1 : collectiveOf[instance]!;
    duration[slot] = Math.max(0, c.end[e]! - c.start[e]!);
    alone[slot] = collective[slot]! < 0 ? meetings.transferOf(rankIndex, e) : duration[slot]!;
  }
  const after = new Float64Array(length);
  return { length, after, collective, duration, alone, before, ...inverse(before) };
}

function inverse(before: Int32Array): Pick<SlotColumns, 'firstBehind' | 'nextBehind'> {
  const firstBehind = new Int32Array(before.length).fill(-1);
  const nextBehind = new Int32Array(before.length).fill(-1);
  // From the end, so that the lists are in order.
  for (let slot = before.length - 1; slot >= 0; slot--) {
    const awaited = before[slot]!;
    if (awaited < 0) continue;
    nextBehind[slot] = firstBehind[awaited]!;
    firstBehind[awaited] = slot;
  }
  return { firstBehind, nextBehind };
}
