import { ascendingOrder, lowerBound } from '../../base/search.js';
import { segmentBefore } from '../../facts/rank-timeline.js';
import { onReference, type RankClock } from '../collectives/clocks.js';
import type { PathRank } from './critical-path.js';
import type { Meetings } from './meetings.js';
import {
  type OpenRank,
  type PlanMembers,
  Progress,
  readyTimes,
  type SlotColumns,
  slotsFor,
} from './plan-slots.js';

/** All ranks over a run of steps, as a plan that can be replayed. */
export interface RunPlan {
  readonly ranks: readonly RankPlan[];
  /** Of the collectives that all captured members have in the plan: their members, and ns of transfer. */
  readonly members: PlanMembers;
  readonly transfer: Float64Array;
  /** The same without waiting for members that were not captured, as far as that is known. */
  readonly transferAlone: Float64Array;
}

/** One rank: its segments in order, and a slot for each collective that starts in them. ns. */
export interface RankPlan {
  /** On the reference's clock, which all ranks share. */
  readonly begin: number;
  readonly length: number;
  /** Index of the first segment in the rank's timeline. */
  readonly firstSegment: number;
  readonly duration: Float64Array;
  readonly exposed: Uint8Array;
  /** Of an exposed segment: slot of the collective that ends it (−1: something else does), and how long after that it ends. */
  readonly release: Int32Array;
  readonly tail: Float64Array;
  /** The rank becomes ready in segment i for slots `slotOrder[firstSlot[i]]` up to `slotOrder[firstSlot[i + 1]]`. */
  readonly firstSlot: Uint32Array;
  readonly slotOrder: Uint32Array;
  readonly slots: SlotColumns;
}

/** `first`, `last`: indices of common steps. `clocks`: by rank index. */
export function planRun(
  ranks: readonly PathRank[],
  meetings: Meetings,
  [first, last]: readonly [number, number],
  clocks: readonly RankClock[],
): RunPlan {
  const open = ranks.map((r) => {
    const from = r.timeline.stepFrom[r.steps[first]!]!;
    const to = r.timeline.stepTo[r.steps[last]!]!;
    const segments = [segmentBefore(r.timeline, from + 1), segmentBefore(r.timeline, to)] as const;
    const { start } = meetings.collectives[r.rankIndex]!;
    const entries = [lowerBound(start, from), lowerBound(start, to)] as const;
    return { ...r, from, to, segments, entries, progress: new Progress(r, ...segments, [first, last]) };
  });
  const { collectiveOf, members, ...transfers } = sharedCollectives(open, meetings);
  const slots = open.map((r) => slotsFor(r, meetings, collectiveOf));
  const ready = readyTimes(open, slots, members, meetings);
  return {
    ranks: open.map((r, i) => {
      const begin = onReference(clocks[r.rankIndex]!, r.from);
      return planRank(r, slots[i]!, ready[i]!, meetings, begin);
    }),
    members,
    ...transfers,
  };
}

/** Instances whose captured members are all in the plan. For others it is unknown when the last member arrived. */
function sharedCollectives(ranks: readonly OpenRank[], meetings: Meetings) {
  const { matched, instanceOf, waits } = meetings;
  const { length, memberStart, memberRank, memberEntry } = matched;
  const seen = new Uint32Array(length);
  for (const { rankIndex, entries } of ranks) {
    for (let e = entries[0]; e < entries[1]; e++) {
      const instance = instanceOf[rankIndex]![e]!;
      if (instance >= 0) seen[instance]!++;
    }
  }
  const kept: number[] = [];
  for (let i = 0; i < length; i++) {
    if (seen[i]! > 0 && seen[i] === memberStart[i + 1]! - memberStart[i]!) kept.push(i);
  }
  const indexOf = new Map(ranks.map((r, index) => [r.rankIndex, index]));
  const from = new Uint32Array(kept.length + 1);
  kept.forEach((i, k) => {
    from[k + 1] = from[k]! + seen[i]!;
  });
  const members = { from, rank: new Uint32Array(from.at(-1)!), slot: new Uint32Array(from.at(-1)!) };
  const collectiveOf = new Int32Array(length).fill(-1);
  kept.forEach((i, k) => {
    collectiveOf[i] = k;
    for (let m = memberStart[i]!, at = from[k]!; m < memberStart[i + 1]!; m++, at++) {
      const index = indexOf.get(memberRank[m]!)!;
      members.rank[at] = index;
      members.slot[at] = memberEntry[m]! - ranks[index]!.entries[0];
    }
  });
  return {
    collectiveOf,
    members,
    transfer: Float64Array.from(kept, (i) => waits.transfer[i]!),
    transferAlone: Float64Array.from(kept, (i) => meetings.transferAlone(i)),
  };
}

function planRank(
  rank: OpenRank,
  slots: SlotColumns,
  ready: Float64Array,
  meetings: Meetings,
  begin: number,
): RankPlan {
  const { timeline, rankIndex, from, to, entries, segments } = rank;
  const { end: ends } = meetings.collectives[rankIndex]!;
  const length = Math.max(0, segments[1] - segments[0] + 1);
  const columns = {
    duration: new Float64Array(length),
    exposed: new Uint8Array(length),
    release: new Int32Array(length).fill(-1),
    tail: new Float64Array(length),
    firstSlot: new Uint32Array(length + 1),
    slotOrder: ascendingOrder(ready),
  };
  let at = 0;
  for (let i = 0; i < length; i++) {
    const s = segments[0] + i;
    const [start, end] = [Math.max(from, timeline.start[s]!), Math.min(to, timeline.end[s]!)];
    columns.duration[i] = Math.max(0, end - start);
    columns.exposed[i] = timeline.exposed[s]!;
    columns.firstSlot[i] = at;
    // A slot that is ready at a bound belongs to the segment that begins there.
    for (; at < slots.length && ready[columns.slotOrder[at]!]! < end; at++) {
      const slot = columns.slotOrder[at]!;
      if (columns.exposed[i] === 0 && end > start)
        slots.after[slot] = Math.max(0, ready[slot]! - start) / (end - start);
    }
    if (columns.exposed[i] === 0) continue;
    const entry = meetings.releasing(rankIndex, start, end);
    // A collective that began before the plan has no slot.
    if (entry < entries[0] || entry >= entries[1]) continue;
    columns.release[i] = entry - entries[0];
    columns.tail[i] = end - ends[entry]!;
  }
  columns.firstSlot[length] = at;
  return { begin, length, firstSegment: segments[0], ...columns, slots };
}
