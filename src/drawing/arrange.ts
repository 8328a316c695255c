/** Divides the slices of a track into rows in which none overlaps. Rows of the trace come in order of start. */

/** Python stacks reach a few hundred; a damaged file may have any number. */
const MAX_ROWS = 1024;

export interface Arranged {
  /** Rows of the trace, by row of the drawing. */
  readonly rows: readonly Uint32Array[];
  /** Slices for which there was no room: more than 64 at one time, or nested more than 1,024 deep. */
  readonly leftOut: number;
}

interface Times {
  readonly ts: Float64Array;
  readonly dur: ArrayLike<number>;
}

const endOf = ({ ts, dur }: Times, row: number) => ts[row]! + Math.max(0, dur[row]!);

/** Each call one row below the call that encloses it. */
export function nest(sorted: Uint32Array, times: Times): Arranged {
  const depths = new Uint16Array(sorted.length);
  const ends = new Float64Array(MAX_ROWS);
  let depth = 0;
  for (let i = 0; i < sorted.length; i++) {
    const start = times.ts[sorted[i]!]!;
    while (depth > 0 && ends[depth - 1]! <= start) depth--;
    depths[i] = depth;
    if (depth < MAX_ROWS) ends[depth++] = endOf(times, sorted[i]!);
  }
  return split(sorted, depths);
}

/** Nobody looks at more overlapping slices, and a damaged file must not take the square of its length. */
const MAX_PACKED = 64;

/** In the first row that is free: overlapping kernels of one stream are all drawn, below each other. */
export function pack(sorted: Uint32Array, times: Times): Arranged {
  const placed = new Uint16Array(sorted.length);
  const ends = new Float64Array(MAX_PACKED).fill(Number.NEGATIVE_INFINITY);
  for (let i = 0; i < sorted.length; i++) {
    const start = times.ts[sorted[i]!]!;
    let row = 0;
    while (row < MAX_PACKED && ends[row]! > start) row++;
    if (row < MAX_PACKED) ends[row] = endOf(times, sorted[i]!);
    placed[i] = row < MAX_PACKED ? row : MAX_ROWS;
  }
  return split(sorted, placed);
}

function split(sorted: Uint32Array, rowOf: Uint16Array): Arranged {
  const counts = new Uint32Array(MAX_ROWS + 1);
  for (let i = 0; i < rowOf.length; i++) counts[rowOf[i]!]!++;
  let used = 0;
  while (used < MAX_ROWS && counts[used]! > 0) used++;
  const rows = Array.from({ length: used }, (_, r) => new Uint32Array(counts[r]!));
  const filled = new Uint32Array(MAX_ROWS + 1);
  for (let i = 0; i < rowOf.length; i++) {
    const row = rowOf[i]!;
    if (row < MAX_ROWS) rows[row]![filled[row]!++] = sorted[i]!;
  }
  return { rows, leftOut: counts[MAX_ROWS]! };
}
