import { lowerBound } from '../base/search.js';
import { largest } from '../base/statistics.js';
import { CLASS_NAMES, TIME_CLASSES } from '../facts/time-class.js';
import type { ClassSpans } from './draw-trace.js';
import { painted } from './paint.js';
import { SliceIndex } from './slice-index.js';
import { ColumnSlices, SliceBuilder, type SliceColumns, type Slices } from './slices.js';
import type { DrawnSlices, TrackInfo } from './timeline.js';

/** Longer names are cut: a label never shows more. */
const LABEL_LENGTH = 200;

/** A track of slices, ready to be asked for any range at any zoom. Times in ns of its rank. */
export class Track {
  readonly info: TrackInfo;
  readonly #indices: (SliceIndex | undefined)[] = [];

  constructor(
    info: Omit<TrackInfo, 'rows' | 'slices'>,
    readonly rows: readonly Slices[],
    readonly textOf: (name: number) => string,
  ) {
    this.info = { ...info, rows: rows.length, slices: rows.reduce((n, r) => n + r.length, 0) };
  }

  /** Built when first asked for. */
  index(row: number): SliceIndex {
    this.#indices[row] ??= new SliceIndex(this.rows[row]!);
    return this.#indices[row];
  }

  draw(from: number, to: number, pixel: number): DrawnSlices {
    const out = new SliceBuilder();
    const ends = this.rows.map((_, row) => {
      this.index(row).query(from, to, pixel, out);
      return out.length;
    });
    const columns = out.finish();
    const rowOf = new Uint16Array(columns.length);
    ends.forEach((end, row) => {
      rowOf.fill(row, row === 0 ? 0 : ends[row - 1], end);
    });
    return withNames(columns, rowOf, this.textOf);
  }

  text(row: number, index: number): string {
    return this.textOf(this.rows[row]!.name(index));
  }
}

/** Names as a list of the texts in use. */
function withNames(columns: SliceColumns, row: Uint16Array, textOf: (name: number) => string): DrawnSlices {
  const names: string[] = [];
  const indexOf = new Map<number, number>();
  const name = columns.name.map((id) => {
    let index = indexOf.get(id);
    if (index === undefined) {
      index = names.push(textOf(id).slice(0, LABEL_LENGTH)) - 1;
      indexOf.set(id, index);
    }
    return index;
  });
  return { ...columns, name, row, names };
}

/** A figure over time as slices: each holds until the next. Of those in one pixel the largest value is drawn. */
export class CounterTrack extends Track {
  constructor(
    info: Omit<TrackInfo, 'rows' | 'slices' | 'max'>,
    readonly time: Float64Array,
    readonly value: ArrayLike<number>,
    readonly until: number,
  ) {
    const length = time.length;
    const ends = Float64Array.from(time, (t, i) => Math.max(t, time[i + 1] ?? until));
    const columns = {
      length,
      start: time,
      end: ends,
      name: new Uint32Array(length),
      paint: new Uint8Array(length),
      count: new Uint32Array(length).fill(1),
      busy: Float32Array.from(value),
    };
    super(
      { ...info, max: largest(value as ArrayLike<number>) },
      [new ColumnSlices(columns)],
      () => info.title,
    );
  }

  override draw(from: number, to: number, pixel: number): DrawnSlices {
    const out = new SliceBuilder();
    const { time } = this;
    const slices = this.rows[0]!;
    for (let i = Math.max(0, lowerBound(time, from) - 1); i < slices.length && slices.start(i) < to; ) {
      const start = slices.start(i);
      const next = Math.max(i + 1, lowerBound(time, start + pixel));
      let most = slices.busy(i);
      // A pixel may hold a million samples: of many, evenly spread ones are enough.
      const stride = Math.max(1, Math.floor((next - i) / 64));
      for (let k = i; k < next; k += stride) most = Math.max(most, slices.busy(k));
      out.add(start, slices.end(next - 1), 0, 0, next - i, most, i);
      i = next;
    }
    const columns = out.finish();
    return withNames(columns, new Uint16Array(columns.length), this.textOf);
  }
}

/** What the rank did at each time: one row without gaps, idle time colored by its cause. */
export function classTrack({ start, end, class: classes }: ClassSpans, title: string): Track {
  const columns = {
    length: start.length,
    start,
    end,
    name: Uint32Array.from(classes),
    paint: classes.map((c) => painted(c)),
    count: new Uint32Array(start.length).fill(1),
    busy: Float32Array.from(start, (s, i) => end[i]! - s),
  };
  const info = { kind: 'classes', title, leftOut: 0, training: false } as const;
  return new Track(info, [new ColumnSlices(columns)], (id) => CLASS_NAMES[TIME_CLASSES[id]!]);
}
