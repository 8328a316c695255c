import { groupBy } from '../../base/group-by.js';
import { CoverageCursor, gapsOf, type Spans, SpanUnion } from '../../base/intervals.js';
import { indexInSorted, lowerBound } from '../../base/search.js';
import { CollectivesBuilder, type Entry } from '../../facts/collectives-builder.js';
import type { RankCollectives } from '../../facts/rank-collectives.js';
import { WorkSort } from '../../facts/time-class.js';
import type { Trace } from '../../model/trace.js';
import { NO_I32, NO_ID } from '../../model/trace-data.js';
import type { KernelKinds } from '../kernels/kernel-kind.js';
import type { GpuWork } from '../timeline/gpu-work.js';
import type { StepTimes } from '../timeline/step-times.js';
import { workSorts } from '../timeline/work-sorts.js';
import { CollectiveArguments } from './arguments.js';
import { GroupTable } from './groups.js';
import { findHostOps, type HostOps } from './host-ops.js';

export interface ExtractOptions {
  /** When training threads waited for host collectives (`HostSpans.waits.comms`), for jobs without GPU work. */
  readonly blocking?: Spans;
  readonly cap?: number;
}

/** The collectives of one rank's trace; null when it has none. `times` must be of all steps. */
export function extractCollectives(
  trace: Trace,
  work: GpuWork,
  kinds: KernelKinds,
  times: StepTimes,
  options: ExtractOptions = {},
): RankCollectives | null {
  const pass: Pass = {
    trace,
    work,
    times,
    sorts: workSorts(kinds),
    host: findHostOps(trace),
    args: new CollectiveArguments(trace),
    groups: new GroupTable(trace),
    builder: new CollectivesBuilder(options.cap),
  };
  const computing = computeSpans(pass);
  addKernels(pass, computing);
  addHostSpans(pass, computing, options.blocking ?? null);
  if (pass.builder.length === 0) return null;
  const { data } = trace;
  return pass.builder.finish({
    source: 'trace',
    timed: true,
    profilerStart: true,
    groups: pass.groups.groups,
    baseNs: data.baseNs + wholeNumber(data.header.baseTimeNanoseconds),
    steps: times.steps.map((s) => s.index),
    // Steps found by optimizer calls or batches are counted from the start of the recording.
    numbered: times.source === 'profiler',
  });
}

interface Pass {
  readonly trace: Trace;
  readonly work: GpuWork;
  readonly times: StepTimes;
  readonly sorts: Uint8Array;
  readonly host: HostOps;
  readonly args: CollectiveArguments;
  readonly groups: GroupTable;
  readonly builder: CollectivesBuilder;
}

function computeSpans({ trace, work, sorts }: Pass): Spans {
  const { name } = trace.data;
  const union = new SpanUnion();
  for (let i = 0; i < work.length; i++) {
    if (sorts[name[work.row[i]!]!] === WorkSort.compute) union.add(work.start[i]!, work.end[i]!);
  }
  return union.finish();
}

function addKernels(pass: Pass, computing: Spans): void {
  const { trace, work, times, sorts, args, builder } = pass;
  const { name, gpu } = trace.data;
  const known = new Map<number, number>();
  const ofComms: number[] = [];
  for (let i = 0; i < work.length; i++) if (sorts[name[work.row[i]!]!] === WorkSort.comms) ofComms.push(i);
  const exposedOf = exposure(
    computing,
    ofComms.map((i) => [work.start[i]!, work.end[i]!]),
  );
  for (const i of ofComms) {
    const row = work.row[i]!;
    const [start, end] = [work.start[i]!, work.end[i]!];
    const exposed = exposedOf(start, end);
    const { record, annotation } = hostCallsOf(pass, row, work.launchRow[i]!);
    const own = args.entryOf(row);
    // A grouped or coalesced collective runs as several kernels, which share the record or its External id.
    const external = own >= 0 && trace.data.external[row] !== NO_ID ? -2 - trace.data.external[row]! : -1;
    const id = record >= 0 ? record : annotation >= 0 ? annotation : external;
    const before = id === -1 ? undefined : known.get(id);
    if (before !== undefined) {
      if (before >= 0) builder.extend(before, start, end, exposed);
      continue;
    }
    const stream = gpu.stream[indexInSorted(gpu.row, row)] ?? NO_I32;
    const step = times.stepOf[i]!;
    const index = builder.add({
      ...describe(pass, [own, args.entryOf(record)], [annotation, row], `stream ${stream}`, annotation),
      start,
      end,
      exposed,
      onDevice: true,
      step: step < times.steps.length ? step : -1,
    });
    if (id !== -1) known.set(id, index);
  }
}

/**
 * What a collective is. `withArguments`: entries of the table of collectives; `names`: rows whose names may tell its kind;
 * `shaped`: row of a call with the shapes of its input. −1: none.
 */
function describe(
  { trace, args, groups }: Pass,
  withArguments: readonly number[],
  names: readonly number[],
  stream: string,
  shaped: number,
): Pick<Entry, 'group' | 'kind' | 'dtype' | 'sequence' | 'peer' | 'bytes'> {
  const entries = withArguments.filter((e) => e >= 0);
  const kind = args.kind(entries, names);
  const group = groups.indexOf(args.group(entries), stream);
  const info = groups.groups[group]!;
  const dtype = args.dtype(entries, shaped);
  return {
    group,
    kind,
    dtype,
    sequence: args.sequence(entries),
    peer: args.peer(kind, entries, info, shaped < 0 ? '' : trace.name(shaped)),
    bytes: args.bytes(kind, entries, shaped, dtype, info.size),
  };
}

/** The host calls around a kernel's launch; else the record with its External id. */
function hostCallsOf({ trace, host, args }: Pass, row: number, launch: number) {
  const { ts, track, external } = trace.data;
  let [record, annotation] = [-1, -1];
  if (launch >= 0) {
    record = host.recordAround(track[launch]!, ts[launch]!);
    annotation = host.annotationAround(track[launch]!, ts[launch]!);
  }
  // Old profilers wrote the correlation id as External id, which may be another record's.
  const isExternal = external[row] !== NO_ID && external[row] !== trace.data.correlation[row];
  if (record < 0 && annotation < 0 && isExternal) record = host.recordOf(external[row]!);
  if (args.movesNothing(args.entryOf(record))) record = -1;
  return { record, annotation };
}

function addHostSpans(pass: Pass, computing: Spans, blocking: Spans | null): void {
  const { trace, work, host, times, args, builder } = pass;
  const { ts, dur } = trace.data;
  const recordOf = recordsOfSpans(pass);
  // Without GPU work the training threads compute, and what blocked them is known.
  const covered =
    work.length === 0 && blocking
      ? gapsOf(blocking, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY)
      : computing;
  const found: Omit<Entry, 'exposed'>[] = [];
  let step = 0;
  const lastStart: number[] = [];
  host.spans.forEach((row, i) => {
    const [called, end] = [ts[row]!, ts[row]! + Math.max(0, dur[row]!)];
    const { steps } = times;
    while (step + 1 < steps.length && steps[step + 1]!.hostStart <= called) step++;
    const inStep = steps[step] && called >= steps[step]!.hostStart && called <= steps[step]!.hostEnd;
    const what = describe(pass, [args.entryOf(row), args.entryOf(recordOf[i]!)], [row], 'host', row);
    // In the order of the calls: threads that the device wakes at the same time overtake each other.
    const start = Math.min(end, Math.max(host.readyAt(row), lastStart[what.group] ?? called));
    lastStart[what.group] = start;
    found.push({ ...what, start, end, onDevice: false, step: inStep ? step : -1 });
  });
  const exposedOf = exposure(
    covered,
    found.map(({ start, end }) => [start, end]),
  );
  for (const entry of found) builder.add({ ...entry, exposed: exposedOf(entry.start, entry.end) });
}

/**
 * The record of each host span. Spans on gloo's threads have no arguments; their records are on the calling thread. Queues
 * keep the order, so the k-th record of a kind belongs to the k-th span, if there are as many. Records inside records (a
 * barrier that is an all-reduce) and records of kernels do not count.
 */
function recordsOfSpans({ trace, host, args }: Pass): Int32Array {
  const { ts, dur, track } = trace.data;
  const ends = new Map<number, number>();
  const ofHost = host.records.filter((row) => {
    const entry = args.entryOf(row);
    if (entry < 0 || args.movesNothing(entry)) return false;
    if (ts[row]! < (ends.get(track[row]!) ?? -1)) return false;
    ends.set(track[row]!, ts[row]! + dur[row]!);
    return host.annotationAround(track[row]!, ts[row]! + dur[row]! / 2) < 0;
  });
  const records = groupBy(ofHost, (row) => args.kind([args.entryOf(row)], []));
  const spans = groupBy(host.spans.keys(), (i) => args.kind([], [host.spans[i]!]));
  const recordOf = new Int32Array(host.spans.length).fill(-1);
  for (const [kind, indices] of spans) {
    const rows = records.get(kind);
    if (rows?.length !== indices.length) continue;
    indices.forEach((i, k) => {
      recordOf[i] = rows[k]!;
    });
  }
  return recordOf;
}

function wholeNumber(text: string | null): bigint {
  return text !== null && /^-?\d{1,30}$/.test(text) ? BigInt(text) : 0n;
}

/**
 * The part of each collective that nothing hides. Where several run at once, each has an equal part of that time, so that the
 * sum is time that passed. `covered`: what hides them. `all`: every collective that is asked for.
 */
export function exposure(
  covered: Spans,
  all: readonly (readonly [start: number, end: number])[],
): (start: number, end: number) => number {
  const starts = Float64Array.from(all, ([start]) => start).sort();
  const ends = Float64Array.from(all, ([start, end]) => Math.max(start, end)).sort();
  const bounds = new Float64Array(2 * all.length);
  /** Exposed time up to each bound, divided by the number of collectives that run. */
  const until = new Float64Array(2 * all.length);
  const cursor = new CoverageCursor(covered);
  let [begun, ended] = [0, 0];
  for (let i = 0; i < bounds.length; i++) {
    const running = begun - ended;
    const isStart = begun < starts.length && starts[begun]! <= ends[ended]!;
    bounds[i] = isStart ? starts[begun++]! : ends[ended++]!;
    if (i === 0) continue;
    const [from, to] = [bounds[i - 1]!, bounds[i]!];
    const exposed = running > 0 && to > from ? to - from - cursor.covered(from, to) : 0;
    until[i] = until[i - 1]! + exposed / Math.max(1, running);
  }
  const at = (time: number) => until[lowerBound(bounds, time)] ?? 0;
  return (start, end) => Math.max(0, at(end) - at(start));
}
