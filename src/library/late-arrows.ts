import { toRun } from '../drawing/clock.js';
import type { Arrow, TimelinePoint } from '../drawing/timeline.js';
import type { RunFrame } from './run-frame.js';

/** Shorter waits are no reason to look. ns. */
const LEAST_WAIT = 10_000;

/** Where a collective of a rank is drawn. Null: it is not. */
type RowOf = (rank: number, entry: number) => { readonly track: number; readonly row: number } | null;

/** From the rank that came last to a collective to the ranks that waited for it. The longest waits of the range first. */
export function lateArrows(
  { comparison, waited, clocks }: RunFrame,
  rowOf: RowOf,
  { from, to }: { readonly from: number; readonly to: number },
  most: number,
): Arrow[] {
  if (!comparison) return [];
  const { length, memberStart, memberRank, memberEntry, ranks } = comparison.matched;
  const found: { readonly arrow: Arrow; readonly wait: number }[] = [];
  /** Where the rank stopped waiting: it is there, and all others are. */
  const arrival = (rank: number, entry: number): TimelinePoint | null => {
    const place = rowOf(rank, entry);
    const own = waited.get(rank);
    if (!place || !own?.waitOf) return null;
    const time = own.collectives.start[entry]! + (own.waitOf[entry] || 0);
    return { rank, ...place, time: toRun(clocks.get(rank)!, time) };
  };
  for (let i = 0; i < length; i++) {
    const late = comparison.waits.late[i]!;
    if (late < 0) continue;
    const members = memberRank.subarray(memberStart[i]!, memberStart[i + 1]!);
    const source = arrival(ranks[late]!, memberEntry[memberStart[i]! + members.indexOf(late)]!);
    if (!source || source.time > to) continue;
    for (let m = memberStart[i]!; m < memberStart[i + 1]!; m++) {
      const [rank, entry] = [ranks[memberRank[m]!]!, memberEntry[m]!];
      const wait = waited.get(rank)?.waitOf?.[entry] ?? 0;
      if (memberRank[m] === late || !(wait >= LEAST_WAIT)) continue;
      const target = arrival(rank, entry);
      if (target && target.time >= from)
        found.push({ arrow: { kind: 'late', from: source, to: target }, wait });
    }
  }
  found.sort((a, b) => b.wait - a.wait);
  return found.slice(0, most).map((f) => f.arrow);
}
