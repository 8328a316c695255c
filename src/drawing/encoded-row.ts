import { ColumnSlices, type SliceColumns } from './slices.js';

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
