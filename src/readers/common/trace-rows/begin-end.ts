import type { ProblemLog } from '../../../base/problem.js';
import type { KindInfo, TraceData } from '../../../model/trace-data.js';

type Durations = TraceData['dur'];

/**
 * Makes complete events ("X") of begin events ("B"), so that nobody else needs to know them. An end event ("E") closes the
 * latest open one on its track, as in Chrome. Kineto writes neither; other tools with the same format do.
 */
export function pairBeginEnd(
  columns: Pick<TraceData, 'rows' | 'ts' | 'kind' | 'track'>,
  dur: Durations,
  kinds: readonly KindInfo[],
  problems: ProblemLog,
): { readonly dur: Durations; readonly kinds: readonly KindInfo[] } {
  const begins = kinds.map((k) => k.phase === 'B');
  const ends = kinds.map((k) => k.phase === 'E');
  if (!begins.includes(true) && !ends.includes(true)) return { dur, kinds };
  const open = new Map<number, number[]>();
  const pairs: { readonly row: number; readonly ns: number }[] = [];
  let unmatched = 0;
  for (let row = 0; row < columns.rows; row++) {
    const kind = columns.kind[row]!;
    const track = columns.track[row]!;
    if (begins[kind]) {
      const stack = open.get(track) ?? [];
      stack.push(row);
      open.set(track, stack);
    } else if (ends[kind]) {
      const begin = open.get(track)?.pop();
      if (begin === undefined) unmatched++;
      else pairs.push({ row: begin, ns: columns.ts[row]! - columns.ts[begin]! });
    }
  }
  for (const rows of open.values()) unmatched += rows.length;
  problems.add('unmatched-begin-end', UNMATCHED, null, unmatched);
  const fits = pairs.every((p) => p.ns >= 0 && p.ns < 0xffffffff);
  const out: Durations = fits || dur instanceof Float64Array ? dur : Float64Array.from(dur);
  for (const p of pairs) out[p.row] = Number.isFinite(p.ns) ? p.ns : 0;
  return { dur: out, kinds: kinds.map((k) => (k.phase === 'B' ? { ...k, phase: 'X' } : k)) };
}

const UNMATCHED = {
  message: 'a begin event ("B") without its end ("E"), or the other way round',
  consequence: 'its duration counts as 0',
};
