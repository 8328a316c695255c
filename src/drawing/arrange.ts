/** Divides the slices of a track into rows in which none overlaps. Rows of the trace come in order of start. */

/** Python stacks reach a few hundred; a damaged file may have any number. */
const MAX_ROWS = 1024;

export interface Arranged {
  /** Rows of the trace, by row of the drawing. */
  readonly rows: readonly Uint32Array[];
  /** Slices for which there was no room: more than 1,024 at one time. */
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

/** Rows in which the first that is free is looked for. A damaged file may need many more. */
const FIRST_FIT = 8;

/** In the first row that is free: overlapping kernels of one stream are all drawn, below each other. */
export function pack(sorted: Uint32Array, times: Times): Arranged {
  const placed = new Uint16Array(sorted.length);
  const ends = new Float64Array(FIRST_FIT).fill(Number.NEGATIVE_INFINITY);
  const more = new EndHeap();
  for (let i = 0; i < sorted.length; i++) {
    const [start, end] = [times.ts[sorted[i]!]!, endOf(times, sorted[i]!)];
    let row = 0;
    while (row < FIRST_FIT && ends[row]! > start) row++;
    if (row < FIRST_FIT) ends[row] = end;
    else row += more.place(start, end);
    placed[i] = Math.min(row, MAX_ROWS);
  }
  return split(sorted, placed);
}

/** Rows ordered by when they end. */
class EndHeap {
  readonly #end: number[] = [];
  readonly #row: number[] = [];

  place(start: number, end: number): number {
    const size = this.#end.length;
    if (size > 0 && this.#end[0]! <= start) {
      const row = this.#row[0]!;
      this.#sink(end, row);
      return row;
    }
    if (size === MAX_ROWS) return MAX_ROWS;
    let at = size;
    this.#end.push(end);
    this.#row.push(size);
    for (let up = (at - 1) >> 1; at > 0 && this.#end[up]! > end; up = (at - 1) >> 1) {
      this.#move(up, at);
      at = up;
    }
    this.#end[at] = end;
    this.#row[at] = size;
    return size;
  }

  #sink(end: number, row: number): void {
    const size = this.#end.length;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child + 1 < size && this.#end[child + 1]! < this.#end[child]!) child++;
      if (child >= size || this.#end[child]! >= end) break;
      this.#move(child, at);
      at = child;
    }
    this.#end[at] = end;
    this.#row[at] = row;
  }

  #move(from: number, to: number): void {
    this.#end[to] = this.#end[from]!;
    this.#row[to] = this.#row[from]!;
  }
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
