import { type RunClock, toRun } from '../drawing/clock.js';
import type { WaitedCollectives } from '../drawing/collectives.js';
import type { Arrow, TimelinePoint } from '../drawing/timeline.js';
import type { TraceRank } from '../drawing/trace-rank.js';
import type { Comparison } from '../run/compare.js';

/** Shorter waits are no reason to look. ns. */
const LEAST_WAIT = 10_000;

interface Range {
  readonly from: number;
  readonly to: number;
}

/** From the rank that came last to a collective to the ranks that waited for it. The longest waits of the range. */
export function lateArrows(
  { matched, waits }: Comparison,
  waited: ReadonlyMap<number, WaitedCollectives>,
  open: ReadonlyMap<number, TraceRank>,
  clocks: ReadonlyMap<number, RunClock>,
  { from, to }: Range,
  most: number,
): Arrow[] {
  const { memberStart, memberRank, memberEntry, ranks } = matched;
  const found: { readonly arrow: Arrow; readonly wait: number }[] = [];
  const pointOf = (rank: number, entry: number, own: number): TimelinePoint | null => {
    const drawn = open.get(rank);
    if (!drawn?.collectives) return null;
    const row = drawn.collectives.rowOf[entry]!;
    return { rank, track: drawn.collectivesAt, row, time: toRun(clocks.get(rank)!, own) };
  };
  for (let i = 0; i < matched.length; i++) {
    const late = waits.late[i]!;
    const lateRank = late < 0 ? undefined : ranks[late];
    const lateEntries = lateRank === undefined ? undefined : waited.get(lateRank);
    if (!lateEntries?.waitOf || !open.has(lateRank!)) continue;
    const members = memberRank.subarray(memberStart[i]!, memberStart[i + 1]!);
    const lateEntry = memberEntry[memberStart[i]! + members.indexOf(late)]!;
    const source = pointOf(lateRank!, lateEntry, lateEntries.collectives.start[lateEntry]!);
    if (!source || source.time > to) continue;
    for (let m = memberStart[i]!; m < memberStart[i + 1]!; m++) {
      const rank = ranks[memberRank[m]!]!;
      const own = waited.get(rank);
      const wait = own?.waitOf?.[memberEntry[m]!] ?? 0;
      if (rank === lateRank || !own || !(wait >= LEAST_WAIT)) continue;
      const target = pointOf(rank, memberEntry[m]!, own.collectives.start[memberEntry[m]!]! + wait);
      if (target && target.time >= from)
        found.push({ arrow: { kind: 'late', from: source, to: target }, wait });
    }
  }
  return found
    .sort((a, b) => b.wait - a.wait)
    .slice(0, most)
    .map((f) => f.arrow);
}
