import { clip } from '../base/intervals.js';
import { indexInSorted, lowerBound, partitionPoint } from '../base/search.js';
import { TIME_CLASSES, type TimeClass } from '../facts/time-class.js';
import { Category } from '../model/category.js';
import { kindMask, type Trace } from '../model/trace.js';
import { NO_I32 } from '../model/trace-data.js';
import type { RunClock } from '../run/collectives/clocks.js';
import { accountParts } from '../traces/timeline/accounting.js';
import type { GpuWork } from '../traces/timeline/gpu-work.js';
import { stepBounds, type WholeTimeline, wholeTimeline } from '../traces/whole-timeline.js';
import type { Cell } from './parquet-table.js';

/** Where rows go. Tables that nobody wants take none. */
export interface RowSinks {
  readonly steps: RowSink | null;
  readonly kernels: RowSink | null;
  readonly operators: RowSink | null;
  readonly gaps: RowSink | null;
}
export type RowSink = (cells: readonly Cell[]) => void;

export interface TraceOrigin {
  readonly rank: number;
  readonly host: string | null;
  readonly clock: RunClock;
  /** Share of exposed communication that is waiting for other ranks, by step number. */
  waitShare(step: number): number;
}

/** Rows of one trace. */
export function addTraceRows(trace: Trace, origin: TraceOrigin, sinks: RowSinks): void {
  const timeline = wholeTimeline(trace);
  if (!timeline) return;
  const { baseTimeNanoseconds: base } = trace.data.header;
  const baseNs = trace.data.baseNs + (base !== null && /^-?\d{1,30}$/.test(base) ? BigInt(base) : 0n);
  const at = (time: number) => origin.clock.toRun(baseNs, time);
  const pass: Pass = { trace, timeline, origin, at, calls: new HostCalls(trace) };
  if (sinks.steps) addSteps(pass, sinks.steps);
  if (sinks.kernels) addKernels(pass, sinks.kernels);
  if (sinks.gaps) addGaps(pass, sinks.gaps);
  if (sinks.operators) addOperators(pass, sinks.operators);
}

interface Pass {
  readonly trace: Trace;
  readonly timeline: WholeTimeline;
  readonly origin: TraceOrigin;
  /** A time of the trace on the run's clock. */
  at(time: number): bigint | null;
  readonly calls: HostCalls;
}

const us = (ns: number) => ns / 1e3;
const ms = (ns: number) => ns / 1e6;
const textOrNull = (text: string): string | null => (text === '' ? null : text);

function addSteps({ timeline, origin, at }: Pass, add: RowSink): void {
  const { times, accounting } = timeline;
  const bounds = stepBounds(times);
  const parts = accountParts(accounting, bounds);
  times?.steps.forEach(({ index, works }, i) => {
    const waited = parts[i]!.comms_transfer * origin.waitShare(index);
    const msOf = (c: TimeClass) => {
      if (c === 'comms_wait') return ms(waited);
      return ms(c === 'comms_transfer' ? parts[i]!.comms_transfer - waited : parts[i]![c]);
    };
    const duration = ms(bounds[i + 1]! - bounds[i]!);
    const head = [origin.rank, origin.host, index, 'trace', at(bounds[i]!), duration];
    add([...head, ...TIME_CLASSES.map(msOf), works]);
  });
}

const KIND_NAMES: Readonly<Record<number, string>> = {
  [Category.kernel]: 'kernel',
  [Category.memcpy]: 'memcpy',
  [Category.memset]: 'memset',
};

function addKernels({ trace, timeline, origin, at, calls }: Pass, add: RowSink): void {
  const { data, strings } = trace;
  const { work, times, kinds } = timeline;
  const { gpu, copies } = data;
  for (let i = 0; i < work.length; i++) {
    const row = work.row[i]!;
    const launch = work.launchRow[i]!;
    const kind = kinds[data.name[row]!];
    const g = indexInSorted(gpu.row, row);
    const c = indexInSorted(copies.row, row);
    const device = g < 0 ? 255 : gpu.device[g]!;
    const stream = g < 0 ? NO_I32 : gpu.stream[g]!;
    add([
      origin.rank,
      times?.steps[times.stepOf[i]!]?.index ?? null,
      at(work.start[i]!),
      us(work.end[i]! - work.start[i]!),
      trace.name(row),
      KIND_NAMES[trace.category(row)]!,
      kind?.class ?? 'other',
      !kind || kind.precision === 'unknown' ? null : kind.precision,
      device === 255 ? null : device,
      stream === NO_I32 ? null : stream,
      launch < 0 ? null : us(work.start[i]! - data.ts[launch]!),
      calls.operatorOf(launch),
      g < 0 ? null : textOrNull(strings.text(gpu.grid[g]!)),
      g < 0 ? null : textOrNull(strings.text(gpu.block[g]!)),
      g < 0 ? null : gpu.occupancy[g]!,
      c < 0 ? null : copies.bytes[c]!,
    ]);
  }
}

function addGaps({ trace, timeline, origin, at, calls }: Pass, add: RowSink): void {
  const { work, times, accounting } = timeline;
  const bounds = stepBounds(times);
  for (const reason of TIME_CLASSES) {
    if (!reason.startsWith('idle_')) continue;
    const { start, end, length } = clip(accounting.spans[reason], bounds[0] ?? 0, bounds.at(-1) ?? 0);
    for (let i = 0; i < length; i++) {
      const next = lowerBound(work.start, end[i]!);
      const step = partitionPoint(bounds.length, (k) => bounds[k]! <= start[i]!) - 1;
      add([
        origin.rank,
        times?.steps[step]?.index ?? null,
        at(start[i]!),
        us(end[i]! - start[i]!),
        reason,
        next < work.length ? trace.name(work.row[next]!) : null,
        next < work.length ? calls.operatorOf(work.launchRow[next]!) : null,
      ]);
    }
  }
}

const CALL_NAMES: Readonly<Record<number, string>> = {
  [Category.cpuOp]: 'operator',
  [Category.annotation]: 'annotation',
  [Category.pythonFunction]: 'python',
  [Category.runtime]: 'runtime',
  [Category.driver]: 'driver',
};

function addOperators({ trace, timeline, origin, at, calls }: Pass, add: RowSink): void {
  const { data, strings } = trace;
  const steps = timeline.times?.steps ?? [];
  const isCall = kindMask(data, (c, phase) => phase === 'X' && c in CALL_NAMES);
  const { self, gpu, depth } = calls.totals(timeline.work);
  for (let row = 0; row < data.rows; row++) {
    const start = data.ts[row]!;
    if (isCall[data.kind[row]!] === 0 || Number.isNaN(start)) continue;
    const step = steps[partitionPoint(steps.length, (k) => steps[k]!.hostStart <= start) - 1];
    const parent = trace.calls.parent[row]!;
    const shape = indexInSorted(data.shapes.row, row);
    add([
      origin.rank,
      step && start <= step.hostEnd ? step.index : null,
      at(start),
      us(Math.max(0, data.dur[row]!)),
      us(self[row]!),
      us(gpu[row]!),
      trace.name(row),
      CALL_NAMES[trace.category(row)]!,
      parent < 0 ? null : trace.name(parent),
      depth[row]!,
      data.tracks[data.track[row]!]?.tid ?? null,
      shape < 0 ? null : textOrNull(strings.text(data.shapes.dims[shape]!)),
    ]);
  }
}

/** Times of every row, in ns: without the calls inside it, and on the GPU for what was launched inside it. */
interface CallTotals {
  readonly self: Float32Array;
  readonly gpu: Float32Array;
  readonly depth: Uint16Array;
}

/** Calls on the host by row of the trace. */
class HostCalls {
  readonly #trace: Trace;

  constructor(trace: Trace) {
    this.#trace = trace;
  }

  /** The operator around a launch, or the outermost annotation where there is none. Null: neither. `launch` −1: none. */
  operatorOf(launch: number): string | null {
    const { parent } = this.#trace.calls;
    let found = -1;
    for (let row = launch < 0 ? -1 : parent[launch]!; row >= 0; row = parent[row]!) {
      const category = this.#trace.category(row);
      if (category === Category.cpuOp) return this.#trace.name(row);
      if (category === Category.annotation) found = row;
    }
    return found < 0 ? null : this.#trace.name(found);
  }

  totals(work: GpuWork): CallTotals {
    const { parent } = this.#trace.calls;
    const { dur, rows } = this.#trace.data;
    const self = Float32Array.from(dur, (d) => Math.max(0, d));
    const gpu = new Float32Array(rows);
    for (let i = 0; i < work.length; i++)
      if (work.launchRow[i]! >= 0) gpu[work.launchRow[i]!]! += work.end[i]! - work.start[i]!;
    const depth = depthsOf(parent);
    for (const row of innermostFirst(depth)) {
      const around = parent[row]!;
      // Clocks are read one after the other: inner calls may seem to last longer than the one around them.
      self[around] = Math.max(0, self[around]! - Math.max(0, dur[row]!));
      gpu[around]! += gpu[row]!;
    }
    return { self, gpu, depth };
  }
}

/** How many calls are around each row. Linear: what is known about the calls around it is used. */
function depthsOf(parent: Int32Array): Uint16Array {
  const depth = new Uint16Array(parent.length);
  const known = new Uint8Array(parent.length);
  const path: number[] = [];
  for (let first = 0; first < parent.length; first++) {
    let row = first;
    for (; known[row] === 0 && parent[row]! >= 0; row = parent[row]!) path.push(row);
    known[row] = 1;
    for (let below = depth[row]! + 1; path.length > 0; below++) {
      const inner = path.pop()!;
      depth[inner] = below;
      known[inner] = 1;
    }
  }
  return depth;
}

/** Rows that have a call around them, the deepest first. */
function innermostFirst(depth: Uint16Array): Uint32Array {
  const ends = new Uint32Array(0x10001);
  for (const d of depth) ends[0xffff - d]!++;
  for (let d = 1; d < ends.length; d++) ends[d]! += ends[d - 1]!;
  const order = new Uint32Array(depth.length);
  for (let row = depth.length - 1; row >= 0; row--) order[--ends[0xffff - depth[row]!]!] = row;
  const outermost = depth.reduce((n, d) => n + Number(d === 0), 0);
  return order.subarray(0, depth.length - outermost);
}
