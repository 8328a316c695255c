import type { Trace } from '../model/trace.js';
import type { Counter } from './counters.js';
import type { ClassSpans, DrawnSteps, TraceDrawing, TraceTrackKind } from './draw-trace.js';
import { type EncodedRow, encodeRow, SliceBuilder, type SliceColumns } from './slices.js';
import { traceTracks } from './trace-rank.js';
import { CounterTrack, type Track } from './track.js';

/** A drawing of bounded size, for a file: a few steps in full, the rest as it looks from afar. Plain data. */
export interface BoundedDrawing {
  readonly from: number;
  readonly to: number;
  readonly baseNs: bigint;
  readonly steps: DrawnSteps;
  readonly classes: ClassSpans;
  readonly tracks: readonly BoundedTrack[];
  readonly counters: readonly Counter[];
  /** Drawn in full. Null: nothing is; equal to `from` and `to`: everything is. */
  readonly detail: { readonly from: number; readonly to: number } | null;
  /** Launches in full detail: track, row and index of the call, then of its work. */
  readonly launches: Uint32Array;
}

export interface BoundedTrack {
  readonly kind: TraceTrackKind;
  readonly title: string;
  readonly training: boolean;
  readonly leftOut: number;
  readonly names: readonly string[];
  readonly rows: readonly EncodedRow[];
}

interface Window {
  readonly from: number;
  readonly to: number;
  /** ns that are drawn as one inside; 0: every slice by itself. */
  readonly pixel: number;
}

/** Pixels of the whole recording, from fine to coarse. */
const FAR = [1500, 800, 400, 200, 100];
const NAME_LENGTH = 300;
const MOST_LAUNCHES = 4000;
/** Steps that are drawn in full, if they fit. */
const FULL_STEPS = [4, 3, 2, 1];

export function boundDrawing(trace: Trace, drawing: TraceDrawing, budget: number): BoundedDrawing {
  const tracks = traceTracks(trace, drawing);
  const { window, far } = choose(drawing, tracks, budget);
  const rows = tracks.map((track) => track.rows.map((_, row) => boundRow(track, row, drawing, window, far)));
  return {
    from: drawing.from,
    to: drawing.to,
    baseNs: drawing.baseNs,
    steps: drawing.steps,
    classes: boundClasses(drawing.classes, drawing.steps, window, classPixel(drawing, far, budget), budget),
    tracks: drawing.tracks.map(({ kind, title, training, leftOut }, t) => ({
      kind,
      title,
      training,
      leftOut,
      ...named(tracks[t]!, rows[t]!),
    })),
    counters: drawing.counters.map((c) => boundCounter(c, drawing)),
    detail: window && window.pixel === 0 ? { from: window.from, to: window.to } : null,
    launches: window ? boundLaunches(trace, drawing, rows, window) : new Uint32Array(0),
  };
}

/** Finer than slices, for there is one row of classes; coarser in a file of many ranks. */
const classPixel = ({ from, to }: TraceDrawing, far: number, budget: number) =>
  Math.min(far, (to - from) / Math.min(FAR[0]!, budget / 3));

/** As many steps in full detail as fit next to the downsampled rest. */
function choose(drawing: TraceDrawing, tracks: readonly Track[], budget: number) {
  const { from, to, steps } = drawing;
  const count = (pixel: number, start = from, end = to) =>
    tracks.reduce(
      (n, track) => n + track.rows.reduce((m, _, row) => m + sizeOf(track, row, start, end, pixel), 0),
      0,
    );
  const all = tracks.reduce((n, t) => n + t.info.slices, 0);
  if (all <= budget) return { window: { from, to, pixel: 0 } satisfies Window, far: 0 };
  const widths = FAR.map((pixels) => (to - from) / pixels);
  const far = widths.find((pixel) => count(pixel) <= budget / 3) ?? widths.at(-1)!;
  const left = budget - count(far);
  // The first step is often unlike the others.
  const first = steps.from.length > 2 ? 1 : 0;
  for (const wanted of FULL_STEPS) {
    const last = Math.min(steps.to.length, first + wanted) - 1;
    if (last < first) continue;
    const [start, end] = [steps.from[first]!, steps.to[last]!];
    if (count(0, start, end) <= left) return { window: { from: start, to: end, pixel: 0 }, far };
  }
  if (steps.from.length === 0) return { window: null, far };
  const [start, end] = [steps.from[first]!, steps.to[first]!];
  const pixel = [8000, 4000, 2000, 1000]
    .map((p) => (end - start) / p)
    .find((p) => count(p, start, end) <= left);
  return { window: pixel === undefined ? null : { from: start, to: end, pixel }, far };
}

function sizeOf(track: Track, row: number, from: number, to: number, pixel: number): number {
  if (pixel === 0) {
    const index = track.index(row);
    return Math.max(0, index.firstAfter(to) - index.firstAfter(from));
  }
  const out = new SliceBuilder();
  track.index(row).query(from, to, pixel, out);
  return out.length;
}

/** From afar before the window, in detail inside, from afar after it. */
function boundRow(
  track: Track,
  row: number,
  { from, to }: TraceDrawing,
  window: Window | null,
  far: number,
): SliceColumns {
  const out = new SliceBuilder();
  const index = track.index(row);
  // A slice across a border belongs to the part that it begins in.
  let next = 0;
  const add = (start: number, end: number, pixel: number) => {
    const before = out.length;
    index.query(start, end, pixel, out, next);
    if (out.length > before) next = out.lastIndex + 1;
  };
  // An event without length may be at `to`.
  const end = Number.POSITIVE_INFINITY;
  if (!window) add(from, end, far);
  else {
    if (window.from > from) add(from, window.from, far);
    add(window.from, window.to >= to ? end : window.to, window.pixel);
    if (window.to < to) add(window.to, end, far);
  }
  return out.finish();
}

/** Names by their number in a list of those in use. */
function named(track: Track, rows: readonly SliceColumns[]): Pick<BoundedTrack, 'names' | 'rows'> {
  const names: string[] = [];
  const known = new Map<number, number>();
  const numberOf = (id: number) => {
    const number = known.get(id) ?? names.push(track.textOf(id).slice(0, NAME_LENGTH)) - 1;
    known.set(id, number);
    return number;
  };
  return { rows: rows.map((columns) => encodeRow({ ...columns, name: columns.name.map(numberOf) })), names };
}

/**
 * All spans, if they fit. Otherwise those of the window and long ones; for short adjacent ones the sum of each class, one
 * after the other. Spans end at the borders of steps, so that the totals of a step stay right.
 */
function boundClasses(
  classes: ClassSpans,
  steps: DrawnSteps,
  window: Window | null,
  pixel: number,
  budget: number,
): ClassSpans {
  const { length } = classes.start;
  if (length <= budget) return classes;
  const out = new ClassBuilder(pixel);
  const borders = Float64Array.from([...steps.from.subarray(0, 1), ...steps.to]).sort();
  let border = 0;
  for (let i = 0; i < length; i++) {
    let from = classes.start[i]!;
    const [to, kind] = [classes.end[i]!, classes.class[i]!];
    const isInside = (time: number) => window !== null && time >= window.from && time < window.to;
    for (; border < borders.length && borders[border]! < to; border++) {
      const at = Math.max(from, borders[border]!);
      out.add(from, at, kind, isInside(from));
      out.flush();
      from = at;
    }
    out.add(from, to, kind, isInside(from));
  }
  out.flush();
  return out.finish();
}

class ClassBuilder {
  readonly #spans: { readonly start: number; readonly end: number; readonly class: number }[] = [];
  /** Of short adjacent spans, by class in the order in which they came. */
  readonly #sums = new Map<number, number>();
  #from = 0;

  constructor(readonly pixel: number) {}

  add(start: number, end: number, kind: number, inFull: boolean): void {
    if (!(end > start)) return;
    if (inFull || end - start >= this.pixel) {
      this.flush();
      this.#spans.push({ start, end, class: kind });
      return;
    }
    if (this.#sums.size > 0 && end - this.#from > this.pixel) this.flush();
    if (this.#sums.size === 0) this.#from = start;
    this.#sums.set(kind, (this.#sums.get(kind) ?? 0) + end - start);
  }

  flush(): void {
    let at = this.#from;
    for (const [kind, time] of this.#sums) {
      this.#spans.push({ start: at, end: at + time, class: kind });
      at += time;
    }
    this.#sums.clear();
  }

  finish(): ClassSpans {
    return {
      start: Float64Array.from(this.#spans, (s) => s.start),
      end: Float64Array.from(this.#spans, (s) => s.end),
      class: Uint8Array.from(this.#spans, (s) => s.class),
    };
  }
}

function boundCounter(counter: Counter, { from, to }: TraceDrawing): Counter {
  const { title, unit, time, value } = counter;
  const track = new CounterTrack(
    { kind: 'counter', title, unit, leftOut: 0, training: false },
    time,
    value,
    to,
  );
  const { start, busy } = track.draw(from, to, (to - from) / FAR[0]!);
  return { title, unit, time: start, value: Float64Array.from(busy) };
}

function boundLaunches(
  trace: Trace,
  drawing: TraceDrawing,
  rows: readonly (readonly SliceColumns[])[],
  window: Window,
): Uint32Array {
  const place = new Map<number, readonly [number, number, number]>();
  drawing.tracks.forEach((track, t) => {
    track.rows.forEach((list, r) => {
      const { length, start, count, index } = rows[t]![r]!;
      for (let i = 0; i < length; i++)
        if (count[i] === 1 && start[i]! >= window.from && start[i]! < window.to)
          place.set(list[index[i]!]!, [t, r, i]);
    });
  });
  const found: number[] = [];
  const { work, launch } = trace.links;
  for (let i = 0; i < work.length && found.length < MOST_LAUNCHES * 6; i++) {
    const [call, done] = [place.get(launch[i]!), place.get(work[i]!)];
    if (call && done) found.push(call[0], call[1], call[2], done[0], done[1], done[2]);
  }
  return Uint32Array.from(found);
}
