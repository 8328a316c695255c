import { Category } from './category.js';
import { sortByTime } from './time-order.js';
import type { TraceData } from './trace-data.js';

/** Nesting of complete events on each track. */
export interface CallTree {
  /** For each row the row that encloses it on its track; −1 for outermost rows and rows that are no spans. */
  readonly parent: Int32Array;
  /** Spans that start inside another on their track and end after it: no tree can hold them. */
  readonly overlaps: number;
  /** Row of the first of them, −1 when there is none. */
  readonly firstOverlap: number;
}

/** Clocks are read one after the other: ends may be off by this much and still be nested. */
const TOLERANCE_NS = 1000;
/** Spans over the whole window, and the GPU's copies of annotations, are drawn on tracks but do not nest there. */
const NOT_NESTED: readonly number[] = [Category.span, Category.gpuAnnotation, Category.flow, Category.sync];

export function buildCallTree(data: TraceData): CallTree {
  const { ts, dur } = data;
  const parent = new Int32Array(data.rows).fill(-1);
  let overlaps = 0;
  let firstOverlap = -1;
  const stack = new Int32Array(MAX_DEPTH);
  for (const rows of spansByTrack(data)) {
    let depth = 0;
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i]!;
      const start = ts[row]!;
      const end = start + dur[row]!;
      let top = depth > 0 ? stack[depth - 1]! : -1;
      while (top >= 0 && ts[top]! + dur[top]! <= start) {
        depth--;
        top = depth > 0 ? stack[depth - 1]! : -1;
      }
      if (top >= 0 && end > ts[top]! + dur[top]! + TOLERANCE_NS) {
        overlaps++;
        if (firstOverlap < 0) firstOverlap = row;
      }
      parent[row] = top;
      if (depth < MAX_DEPTH) stack[depth++] = row;
    }
  }
  return { parent, overlaps, firstOverlap };
}

/** Python stacks reach a few hundred. */
const MAX_DEPTH = 4096;

/** Rows of complete events, one list a track, ordered by start and, for equal starts, longest first. */
function spansByTrack(data: TraceData): Uint32Array[] {
  const nests = Uint8Array.from(data.kinds, (k) => Number((k.phase === 'X' || k.phase === 'B') && !NOT_NESTED.includes(k.category)));
  const counts = new Uint32Array(data.tracks.length + 1);
  for (let row = 0; row < data.rows; row++) if (nests[data.kind[row]!] === 1) counts[data.track[row]!]!++;
  const lists = Array.from(counts, (n) => new Uint32Array(n));
  const filled = new Uint32Array(counts.length);
  for (let row = 0; row < data.rows; row++) {
    if (nests[data.kind[row]!] === 0) continue;
    const track = data.track[row]!;
    lists[track]![filled[track]!++] = row;
  }
  return lists.filter((l) => l.length > 0).map((l) => sortByTime(l, data.ts, data.dur));
}
