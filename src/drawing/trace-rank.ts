import { lowerBound, partitionPoint } from '../base/search.js';
import { Category, isGpuWork } from '../model/category.js';
import { COMPILES, HOST_COLLECTIVE, SYNCHRONIZES, WAITS_FOR_DATA } from '../model/host-names.js';
import type { Trace } from '../model/trace.js';
import { classifyName } from '../traces/kernels/classify.js';
import type { WorkClass } from '../traces/kernels/kernel-kind.js';
import { type CollectiveTrack, collectiveTrack, type WaitedCollectives, withWaits } from './collectives.js';
import type { TraceDrawing } from './draw-trace.js';
import { classPaint, Paint, painted, shadeOf } from './paint.js';
import { type Launches, RankModel, type SliceKnowledge } from './rank-model.js';
import type { RunClock } from './run-clocks.js';
import type { Slices } from './slices.js';
import type { RankLine, SliceId } from './timeline.js';
import { describeRow } from './trace-detail.js';
import { CounterTrack, classTrack, Track } from './track.js';

const MATRIX: readonly WorkClass[] = ['gemm', 'conv', 'attention', 'rnn'];

/** The paint of each row of a trace. Answers are kept by name, so that a name is looked at once. */
function tracePaints(trace: Trace): (row: number) => number {
  const { data, strings } = trace;
  const byKind = data.kinds.map(({ category }) =>
    strings.memo((name) => (isGpuWork(category) ? gpuPaint(name, category) : hostPaint(name, category))),
  );
  return (row) => byKind[data.kind[row]!]!(data.name[row]!);
}

function gpuPaint(name: string, category: Category): number {
  const kind = classifyName(name, category);
  if (kind.class === 'comms') return classPaint('comms_transfer');
  if (kind.source === 'runtime') return classPaint('copy');
  return painted(MATRIX.includes(kind.class) ? Paint.matrix : Paint.kernel, shadeOf(name));
}

/** What the host waits for has the color of the idle time that it causes. */
function hostPaint(name: string, category: Category): number {
  const text = name.slice(0, 2000);
  if (/^ProfilerStep#/.test(text)) return painted(Paint.step);
  if (category !== Category.overhead) {
    if (SYNCHRONIZES.test(text)) return classPaint('idle_sync');
    if (WAITS_FOR_DATA.test(text)) return classPaint('idle_data');
    if (COMPILES.test(text)) return classPaint('idle_compile');
    if (HOST_COLLECTIVE.test(text)) return classPaint('idle_comms');
  }
  switch (category) {
    case Category.cpuOp:
      return painted(Paint.operator, shadeOf(text));
    case Category.annotation:
    case Category.gpuAnnotation:
      return painted(Paint.annotation, shadeOf(text));
    case Category.pythonFunction:
      return painted(Paint.python, shadeOf(text));
    case Category.runtime:
    case Category.driver:
      return painted(Paint.runtime, shadeOf(text));
    default:
      return painted(Paint.other);
  }
}

/** Rows of a trace as slices: four bytes each, for the rest is in the columns. */
class TraceSlices implements Slices {
  readonly #ts: Float64Array;
  readonly #dur: ArrayLike<number>;
  readonly #name: ArrayLike<number>;

  constructor(
    { data }: Trace,
    readonly rows: Uint32Array,
    readonly paintOf: (row: number) => number,
  ) {
    this.#ts = data.ts;
    this.#dur = data.dur;
    this.#name = data.name;
  }
  get length(): number {
    return this.rows.length;
  }
  start(i: number): number {
    return this.#ts[this.rows[i]!]!;
  }
  end(i: number): number {
    const row = this.rows[i]!;
    return this.#ts[row]! + Math.max(0, this.#dur[row]!);
  }
  name(i: number): number {
    return this.#name[this.rows[i]!]!;
  }
  paint(i: number): number {
    return this.paintOf(this.rows[i]!);
  }
  count(): number {
    return 1;
  }
  busy(i: number): number {
    return Math.max(0, this.#dur[this.rows[i]!]!);
  }
}

/** The tracks of a drawing whose slices are rows of the trace. */
export function traceTracks(trace: Trace, drawing: TraceDrawing): Track[] {
  const paints = tracePaints(trace);
  return drawing.tracks.map(
    ({ kind, title, training, rows, leftOut }) =>
      new Track(
        { kind, title, training, leftOut },
        rows.map((r) => new TraceSlices(trace, r, paints)),
        (id) => trace.strings.text(id),
      ),
  );
}

export interface TraceRank {
  readonly model: RankModel;
  readonly collectives: CollectiveTrack | null;
  readonly collectivesAt: number;
}

/** A rank with its whole trace behind it. `waited`: its collectives, once ranks were compared. */
export function traceRank(
  trace: Trace,
  drawing: TraceDrawing,
  line: RankLine,
  clock: RunClock,
  waited: WaitedCollectives | null,
): TraceRank {
  const classes = waited ? withWaits(drawing.classes, waited) : drawing.classes;
  const collectives = waited && waited.collectives.length > 0 ? collectiveTrack(waited) : null;
  const ofTrace = traceTracks(trace, drawing);
  const counters = drawing.counters.map(
    ({ title, unit, time, value }) =>
      new CounterTrack(
        { kind: 'counter', title, unit, leftOut: 0, training: false },
        time,
        value,
        drawing.to,
      ),
  );
  const hasGpu = drawing.tracks.some((t) => t.kind === 'stream');
  const first = [classTrack(classes, hasGpu ? 'GPU' : 'Time'), ...(collectives ? [collectives.track] : [])];
  const rows = new RowFinder(trace, drawing, first.length);
  const model = new RankModel(
    line,
    clock,
    [...first, ...ofTrace, ...counters],
    knowledgeOf(trace, rows, line.rank),
    launchesOf(trace, rows, line.rank),
  );
  return { model, collectives, collectivesAt: first.length - 1 };
}

/** From rows of the trace to slices and back. */
class RowFinder {
  constructor(
    readonly trace: Trace,
    readonly drawing: TraceDrawing,
    readonly firstTrack: number,
  ) {}

  /** −1: the slice is no row of the trace. */
  rowOf(track: number, row: number, index: number): number {
    return this.drawing.tracks[track - this.firstTrack]?.rows[row]?.[index] ?? -1;
  }

  sliceOf(traceRow: number, rank: number): SliceId | null {
    const { ts, track: trackOf } = this.trace.data;
    const start = ts[traceRow]!;
    const isWork = isGpuWork(this.trace.category(traceRow));
    for (const [t, { rows, kind }] of this.drawing.tracks.entries()) {
      if (isWork ? kind !== 'stream' : trackOf[rows[0]![0]!] !== trackOf[traceRow]) continue;
      for (const [row, list] of rows.entries()) {
        let index = partitionPoint(list.length, (i) => ts[list[i]!]! < start);
        while (index < list.length && ts[list[index]!] === start && list[index] !== traceRow) index++;
        if (list[index] === traceRow) return { rank, track: t + this.firstTrack, row, index };
      }
    }
    return null;
  }
}

function knowledgeOf(trace: Trace, rows: RowFinder, rank: number): SliceKnowledge {
  return {
    fields: (track, row, index) => {
      const traceRow = rows.rowOf(track, row, index);
      return traceRow < 0 ? [] : describeRow(trace, traceRow);
    },
    related: (track, row, index) => {
      const traceRow = rows.rowOf(track, row, index);
      if (traceRow < 0) return [];
      return linked(trace, traceRow).flatMap(([label, other]) => {
        const slice = rows.sliceOf(other, rank);
        return slice ? [[label, slice] as const] : [];
      });
    },
  };
}

/** Kernels of one CUDA graph share a launch: a few are enough. */
const MOST_LINKS = 8;

function linked(trace: Trace, row: number): (readonly [label: string, row: number])[] {
  const { work, launch } = trace.links;
  const own = lowerBound(work, row);
  if (work[own] === row) return launch[own]! < 0 ? [] : [['Launched by', launch[own]!]];
  const found: (readonly [string, number])[] = [];
  for (let i = 0; i < launch.length && found.length < MOST_LINKS; i++)
    if (launch[i] === row) found.push(['Launches', work[i]!]);
  return found;
}

function launchesOf(trace: Trace, rows: RowFinder, rank: number): Launches {
  return (from, to, most) => {
    const { work, launch } = trace.links;
    const { ts } = trace.data;
    const found: (readonly [SliceId, SliceId])[] = [];
    const inside: number[] = [];
    for (let i = 0; i < work.length && inside.length <= most; i++) {
      const call = launch[i]!;
      if (call >= 0 && ts[call]! < to && ts[work[i]!]! > from && (ts[call]! >= from || ts[work[i]!]! <= to))
        inside.push(i);
    }
    // Too many to distinguish: drawing none is better than drawing some.
    if (inside.length > most) return [];
    for (const i of inside) {
      const [call, done] = [rows.sliceOf(launch[i]!, rank), rows.sliceOf(work[i]!, rank)];
      if (call && done) found.push([call, done]);
    }
    return found;
  };
}
