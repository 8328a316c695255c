import { Category } from './category.js';
import { sortByTime } from './time-order.js';
import type { TraceData } from './trace-data.js';

/** Nesting of complete events on each track. */
export interface CallTree {
  /** For each row, the row that encloses it on its track; −1 for outermost rows and rows that are not spans. */
  readonly parent: Int32Array;
  /** Spans that start inside another span of their track and end after it. No tree can hold them. */
  readonly overlaps: number;
  /** Row of the first overlap, −1 when there is none. */
  readonly firstOverlap: number;
}

/** Clocks are read one after the other, so a nested span may seem to end up to this much after its parent. */
const TOLERANCE_NS = 1000;
/** Python stacks reach a few hundred. */
const MAX_DEPTH = 4096;
/** Spans over the whole window and the GPU's copies of annotations have a track but do not nest on it. */
const NOT_NESTED: readonly number[] = [Category.span, Category.gpuAnnotation, Category.flow, Category.sync];

export function buildCallTree(data: TraceData): CallTree {
  const { ts, dur } = data;
  const parent = new Int32Array(data.rows).fill(-1);
  let overlaps = 0;
  let firstOverlap = -1;
  const stack = new Int32Array(MAX_DEPTH);
  const ends = new Float64Array(MAX_DEPTH);
  for (const rows of spansByTrack(data)) {
    let depth = 0;
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i]!;
      const start = ts[row]!;
      const end = start + dur[row]!;
      while (depth > 0 && ends[depth - 1]! <= start) depth--;
      if (depth > 0) {
        parent[row] = stack[depth - 1]!;
        if (end > ends[depth - 1]! + TOLERANCE_NS) {
          overlaps++;
          if (firstOverlap < 0) firstOverlap = row;
        }
      }
      if (depth < MAX_DEPTH) {
        stack[depth] = row;
        ends[depth++] = end;
      }
    }
  }
  return { parent, overlaps, firstOverlap };
}

/** Rows of complete events, one list per track, ordered by start; of equal starts the longest comes first. */
function spansByTrack(data: TraceData): Uint32Array[] {
  const { kind, track, ts, dur } = data;
  const nests = Uint8Array.from(data.kinds, (k) =>
    Number(k.phase === 'X' && !NOT_NESTED.includes(k.category)),
  );
  // A counting sort by track: count the rows of each, add up where each ends, then fill from the back.
  const ends = new Uint32Array(data.tracks.length + 1);
  for (let row = 0; row < data.rows; row++) ends[track[row]!]! += nests[kind[row]!]!;
  for (let t = 1; t < ends.length; t++) ends[t]! += ends[t - 1]!;
  const starts = ends.slice();
  const order = new Uint32Array(ends.at(-1)!);
  for (let row = data.rows - 1; row >= 0; row--) {
    if (nests[kind[row]!] === 1 && !Number.isNaN(ts[row]!)) order[--starts[track[row]!]!] = row;
  }
  const lists = Array.from(ends, (end, t) => order.subarray(starts[t], end));
  return lists.filter((l) => l.length > 0).map((l) => sortByTime(l, ts, dur));
}
