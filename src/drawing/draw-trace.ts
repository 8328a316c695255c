import { groupBy } from '../base/group-by.js';
import { TIME_CLASSES } from '../facts/time-class.js';
import { Category, isGpuWork } from '../model/category.js';
import { sortByTime } from '../model/time-order.js';
import type { Trace } from '../model/trace.js';
import type { KindInfo } from '../model/trace-data.js';
import type { StepTimes } from '../traces/timeline/step-times.js';
import { type WholeTimeline, wholeTimeline } from '../traces/whole-timeline.js';
import { type Arranged, nest, pack } from './arrange.js';
import { type Counter, memoryCounters } from './counters.js';

/** What is drawn of one trace. Plain data that moves between threads; slices are rows of the trace. Times in ns of it. */
export interface TraceDrawing {
  readonly from: number;
  readonly to: number;
  /** What its times count from, in ns since 1970 or since boot. */
  readonly baseNs: bigint;
  readonly steps: DrawnSteps;
  readonly classes: ClassSpans;
  readonly tracks: readonly TraceTrack[];
  readonly counters: readonly Counter[];
}

/** By the GPU frontier, as the report counts them. */
export interface DrawnSteps {
  readonly number: Float64Array;
  readonly from: Float64Array;
  readonly to: Float64Array;
}

/** In which class the rank was at each time, in order. */
export interface ClassSpans {
  readonly start: Float64Array;
  readonly end: Float64Array;
  /** Index in TIME_CLASSES. */
  readonly class: Uint8Array;
}

export type TraceTrackKind = 'stream' | 'gpu-annotations' | 'thread' | 'gpu-syncs';

export interface TraceTrack extends Arranged {
  readonly kind: TraceTrackKind;
  readonly title: string;
  /** One of the threads that launch the work. */
  readonly training: boolean;
}

const NO_CLASSES: ClassSpans = {
  start: new Float64Array(0),
  end: new Float64Array(0),
  class: new Uint8Array(0),
};

/** Null when the trace has nothing to draw. `slices` false: only the steps. */
export function drawTrace(trace: Trace, slices = true): TraceDrawing | null {
  const whole = wholeTimeline(trace);
  if (!whole) return null;
  const tracks = slices ? tracksOf(trace, whole) : [];
  return {
    ...extentOf(trace, whole, tracks),
    baseNs: trace.data.baseNs + BigInt(trace.data.header.baseTimeNanoseconds ?? 0),
    steps: drawnSteps(whole.times),
    classes: slices ? inOrder(whole) : NO_CLASSES,
    tracks,
    counters: slices ? memoryCounters(trace) : [],
  };
}

/** Other threads may begin earlier and end later than those that train. */
function extentOf({ data: { ts, dur } }: Trace, whole: WholeTimeline, tracks: readonly TraceTrack[]) {
  let { from, to } = whole;
  for (const { rows } of tracks) {
    for (const row of rows) {
      const last = row.at(-1)!;
      from = Math.min(from, ts[row[0]!]!);
      to = Math.max(to, ts[last]! + dur[last]!);
    }
  }
  return { from, to };
}

function drawnSteps(times: StepTimes | null): DrawnSteps {
  const steps = times?.steps ?? [];
  return {
    number: Float64Array.from(steps, (s) => s.index),
    from: Float64Array.from(steps, (_, i) => (i === 0 ? times!.begin : steps[i - 1]!.frontier)),
    to: Float64Array.from(steps, (s) => s.frontier),
  };
}

/** The spans of all classes in one list. They do not overlap, so a merge by start is enough. */
function inOrder({ accounting: { spans } }: WholeTimeline): ClassSpans {
  const lists = TIME_CLASSES.map((c) => spans[c]);
  const length = lists.reduce((n, l) => n + l.length, 0);
  const order = new Uint32Array(length);
  const start = new Float64Array(length);
  const end = new Float64Array(length);
  const classes = new Uint8Array(length);
  let n = 0;
  lists.forEach((list, c) => {
    for (let i = 0; i < list.length; i++, n++) {
      order[n] = n;
      start[n] = list.start[i]!;
      end[n] = list.end[i]!;
      classes[n] = c;
    }
  });
  const sorted = sortByTime(order, start, end);
  return {
    start: Float64Array.from(sorted, (i) => start[i]!),
    end: Float64Array.from(sorted, (i) => end[i]!),
    class: Uint8Array.from(sorted, (i) => classes[i]!),
  };
}

const KINDS: readonly TraceTrackKind[] = ['stream', 'gpu-annotations', 'thread', 'gpu-syncs'];
/** Spans over the whole window say nothing, arrows are drawn otherwise, and allocations are counters. */
const NOT_DRAWN: readonly Category[] = [Category.span, Category.flow, Category.memory];

/** Index in KINDS; −1: not a slice. */
function kindIndex({ phase, category }: KindInfo): number {
  if (phase !== 'X' || NOT_DRAWN.includes(category)) return -1;
  if (isGpuWork(category)) return 0;
  if (category === Category.gpuAnnotation) return 1;
  return category === Category.sync ? 3 : 2;
}

function tracksOf(trace: Trace, { host }: WholeTimeline): TraceTrack[] {
  const { data } = trace;
  const titles = new Titles(trace);
  const found = joined(slicesByTrack(trace)).map(({ kind, tracks, rows }) => {
    const sorted = sortByTime(rows, data.ts, data.dur);
    return {
      kind,
      title: titles.of(kind, tracks),
      training: kind === 'thread' && host.threads.includes(tracks[0]!),
      order: kind === 'thread' ? host.threads.indexOf(tracks[0]!) >>> 0 : tracks.length,
      slices: rows.length,
      ...(kind === 'stream' || kind === 'gpu-syncs' ? pack(sorted, data) : nest(sorted, data)),
    };
  });
  return found
    .sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || a.order - b.order || b.slices - a.slices)
    .map(({ kind, title, training, rows, leftOut }) => ({ kind, title, training, rows, leftOut }));
}

interface TrackRows {
  readonly kind: TraceTrackKind;
  /** Tracks of the trace. */
  readonly tracks: readonly number[];
  readonly rows: Uint32Array;
}

/** So many streams have a track each. */
const MOST_STREAMS = 6;
/** Of more, those with a smaller share of the work share one. */
const MINOR_STREAM = 0.02;

/** NCCL may use a stream for each kind of collective: two dozen with a kernel each. Annotations of all streams go together. */
function joined(all: readonly TrackRows[]): TrackRows[] {
  const streams = all.filter((t) => t.kind === 'stream').sort((a, b) => b.rows.length - a.rows.length);
  const work = streams.reduce((n, t) => n + t.rows.length, 0);
  const isMinor = (t: TrackRows) => streams.length > MOST_STREAMS && t.rows.length < work * MINOR_STREAM;
  const key = (t: TrackRows) =>
    t.kind === 'thread' || (t.kind === 'stream' && !isMinor(t)) ? t.tracks[0]! : -1;
  return [...groupBy(all, (t) => `${t.kind} ${key(t)}`).values()].map((group) => ({
    kind: group[0]!.kind,
    tracks: group.flatMap((t) => t.tracks),
    rows: group.length === 1 ? group[0]!.rows : inFileOrder(group),
  }));
}

function inFileOrder(group: readonly TrackRows[]): Uint32Array {
  const rows = new Uint32Array(group.reduce((n, t) => n + t.rows.length, 0));
  let at = 0;
  for (const t of group) {
    rows.set(t.rows, at);
    at += t.rows.length;
  }
  return rows.sort();
}

/** The rows of each track and kind in file order, by a counting sort. */
function slicesByTrack(trace: Trace): TrackRows[] {
  const { data } = trace;
  const { kind, track, ts } = data;
  const kindOf = Int8Array.from(data.kinds, kindIndex);
  const ends = new Uint32Array(data.tracks.length * KINDS.length);
  for (let row = 0; row < data.rows; row++) {
    const k = kindOf[kind[row]!]!;
    if (k >= 0 && !Number.isNaN(ts[row]!)) ends[track[row]! * KINDS.length + k]!++;
  }
  const lists = Array.from(ends, (count) => new Uint32Array(count));
  ends.fill(0);
  for (let row = 0; row < data.rows; row++) {
    const k = kindOf[kind[row]!]!;
    if (k < 0 || Number.isNaN(ts[row]!)) continue;
    const key = track[row]! * KINDS.length + k;
    lists[key]![ends[key]!++] = row;
  }
  return lists.flatMap((rows, key) =>
    rows.length === 0
      ? []
      : [{ tracks: [Math.floor(key / KINDS.length)], kind: KINDS[key % KINDS.length]!, rows }],
  );
}

/** Names of threads and streams, as the trace has them. */
class Titles {
  readonly #names = new Map<number, string>();
  readonly #severalGpus: boolean;

  constructor(readonly trace: Trace) {
    const { metadata, track } = trace.data;
    metadata.row.forEach((row, i) => {
      if (trace.name(row) !== 'thread_name') return;
      const text = trace.strings.text(metadata.name[i]!).slice(0, 80);
      if (text !== '') this.#names.set(track[row]!, text);
    });
    this.#severalGpus = new Set(Array.from(trace.data.gpu.device).filter((d) => d !== 255)).size > 1;
  }

  of(kind: TraceTrackKind, tracks: readonly number[]): string {
    const { pid, tid } = this.trace.data.tracks[tracks[0]!]!;
    if (kind === 'gpu-annotations') return 'GPU annotations';
    if (kind === 'gpu-syncs') return 'GPU syncs';
    if (kind === 'stream' && tracks.length > 1) return `${tracks.length} more streams`;
    if (kind === 'stream') return `${this.#severalGpus ? `GPU ${pid} ` : ''}Stream ${bare(tid)}`;
    const name = this.#names.get(tracks[0]!) ?? '';
    // `thread 1234 (python)` of Kineto.
    return /^thread \d+ \(/.test(name)
      ? name.replace(/^t/, 'T')
      : `Thread ${bare(tid)}${name ? ` ${name}` : ''}`;
  }
}

/** `stream 7` is 7. */
const bare = (id: string) => id.replace(/^"?(?:stream |thread )?/i, '').replace(/"$/, '');
