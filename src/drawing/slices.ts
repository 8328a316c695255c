/** Slices of one row, in order of start. None begins before the one before it ends. Times in ns. */
export interface Slices {
  readonly length: number;
  start(i: number): number;
  end(i: number): number;
  /** Id of the name; what it means is known to the track. */
  name(i: number): number;
  /** As `painted` makes it. */
  paint(i: number): number;
  /** How many events it stands for. */
  count(i: number): number;
  /** ns of them, at most its length. */
  busy(i: number): number;
}

/** Slices as columns: what a query gives, and what the file page holds. */
export interface SliceColumns {
  readonly length: number;
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly name: Uint32Array;
  readonly paint: Uint8Array;
  readonly count: Uint32Array;
  readonly busy: Float32Array;
  /** Index in the row of the first slice it stands for. */
  readonly index: Uint32Array;
}

export class ColumnSlices implements Slices {
  constructor(readonly columns: Omit<SliceColumns, 'index'>) {}
  get length(): number {
    return this.columns.length;
  }
  start(i: number): number {
    return this.columns.start[i]!;
  }
  end(i: number): number {
    return this.columns.end[i]!;
  }
  name(i: number): number {
    return this.columns.name[i]!;
  }
  paint(i: number): number {
    return this.columns.paint[i]!;
  }
  count(i: number): number {
    return this.columns.count[i]!;
  }
  busy(i: number): number {
    return this.columns.busy[i]!;
  }
}

/** Collects slices in order of start. */
export class SliceBuilder {
  readonly #start: number[] = [];
  readonly #end: number[] = [];
  readonly #name: number[] = [];
  readonly #paint: number[] = [];
  readonly #count: number[] = [];
  readonly #busy: number[] = [];
  readonly #index: number[] = [];

  get length(): number {
    return this.#start.length;
  }

  /** Index of the last slice that what was added stands for. */
  get lastIndex(): number {
    return this.#index.at(-1)! + this.#count.at(-1)! - 1;
  }

  add(start: number, end: number, name: number, paint: number, count = 1, busy = end - start, index = -1) {
    this.#index.push(index < 0 ? this.#start.length : index);
    this.#start.push(start);
    this.#end.push(end);
    this.#name.push(name);
    this.#paint.push(paint);
    this.#count.push(count);
    this.#busy.push(busy);
  }

  finish(): SliceColumns {
    return {
      length: this.#start.length,
      start: Float64Array.from(this.#start),
      end: Float64Array.from(this.#end),
      name: Uint32Array.from(this.#name),
      paint: Uint8Array.from(this.#paint),
      count: Uint32Array.from(this.#count),
      busy: Float32Array.from(this.#busy),
      index: Uint32Array.from(this.#index),
    };
  }
}

/** Slices as small numbers, which compress well. Times in ns, rounded. */
export interface EncodedRow {
  /** From the end of the slice before, of the first from 0. */
  readonly gap: Uint32Array | Float64Array;
  readonly duration: Uint32Array | Float64Array;
  readonly name: Uint16Array | Uint32Array;
  readonly paint: Uint8Array;
  /** Null: each slice is one event. */
  readonly count: Uint32Array | null;
  readonly busy: Uint32Array | Float64Array | null;
}

const MOST = 0xffffffff;
const times = (values: Float64Array) =>
  values.every((v) => v >= 0 && v <= MOST) ? Uint32Array.from(values) : values;

export function encodeRow({
  length,
  start,
  end,
  name,
  paint,
  count,
  busy,
}: Omit<SliceColumns, 'index'>): EncodedRow {
  const gap = new Float64Array(length);
  const duration = new Float64Array(length);
  let before = 0;
  for (let i = 0; i < length; i++) {
    const from = i === 0 ? Math.round(start[i]!) : Math.max(before, Math.round(start[i]!));
    gap[i] = from - before;
    before = Math.max(from, Math.round(end[i]!));
    duration[i] = before - from;
  }
  const isMerged = count.some((n) => n > 1);
  return {
    gap: times(gap),
    duration: times(duration),
    name: name.some((n) => n > 0xffff) ? name : Uint16Array.from(name),
    paint,
    count: isMerged ? count : null,
    busy: isMerged ? times(Float64Array.from(busy, Math.round)) : null,
  };
}

export function decodeRow({ gap, duration, name, paint, count, busy }: EncodedRow): ColumnSlices {
  const { length } = gap;
  const start = new Float64Array(length);
  const end = new Float64Array(length);
  let at = 0;
  for (let i = 0; i < length; i++) {
    start[i] = at + gap[i]!;
    at = start[i]! + duration[i]!;
    end[i] = at;
  }
  return new ColumnSlices({
    length,
    start,
    end,
    name: Uint32Array.from(name),
    paint,
    count: count ?? new Uint32Array(length).fill(1),
    busy: Float32Array.from(busy ?? duration),
  });
}
