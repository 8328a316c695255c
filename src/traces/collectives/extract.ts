import { CoverageCursor, gapsOf, type Spans, SpanUnion } from '../../base/intervals.js';
import { indexInSorted } from '../../base/search.js';
import { CollectivesBuilder, MAX_ENTRIES } from '../../facts/collectives-builder.js';
import type { RankCollectives } from '../../facts/rank-collectives.js';
import { WorkSort } from '../../facts/work-sort.js';
import type { Trace } from '../../model/trace.js';
import { NO_I32, NO_ID } from '../../model/trace-data.js';
import type { KernelKind } from '../kernels/kernel-kind.js';
import type { GpuWork } from '../timeline/gpu-work.js';
import type { StepTimes } from '../timeline/step-times.js';
import { workSorts } from '../timeline/work-sorts.js';
import { CollectiveArguments } from './arguments.js';
import { GroupTable } from './groups.js';
import { findHostOps, type HostOps } from './host-ops.js';

export interface ExtractOptions {
  /** Waits of the training threads for collectives of the host (`HostSpans.waits.comms`), for jobs without GPU work. */
  readonly blocking?: Spans;
  readonly cap?: number;
}

/**
 * The collectives of one rank's trace; null when it has none. Runs where the columns are. `times` must be of all steps,
 * as `findStepTimes` has them.
 */
export function extractCollectives(
  trace: Trace,
  work: GpuWork,
  kinds: readonly (KernelKind | undefined)[],
  times: StepTimes,
  options: ExtractOptions = {},
): RankCollectives | null {
  const pass: Pass = {
    ...{ trace, work, times, sorts: workSorts(kinds), host: findHostOps(trace) },
    ...{ args: new CollectiveArguments(trace), groups: new GroupTable(trace) },
    builder: new CollectivesBuilder(options.cap ?? MAX_ENTRIES),
  };
  const computing = computeSpans(pass);
  addKernels(pass, computing);
  addHostSpans(pass, computing, options.blocking ?? null);
  if (pass.builder.length === 0) return null;
  const { data } = trace;
  return pass.builder.finish({
    ...{ source: 'trace', timed: true, profilerStart: true, groups: pass.groups.groups },
    baseNs: data.baseNs + wholeNumber(data.header.baseTimeNanoseconds),
    steps: times.steps.map((s) => s.index),
    // Steps found by optimizer calls or batches are counted from where the recording began.
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

/**
 * Time of collectives, given in order of start, that no computing covers. Where several run at once it is the first
 * one's: so the sum is time that passed.
 */
function exposure(computing: Spans): (start: number, end: number) => number {
  const cursor = new CoverageCursor(computing);
  let reached = Number.NEGATIVE_INFINITY;
  return (start, end) => {
    const from = Math.max(start, reached);
    reached = Math.max(reached, end);
    return end > from ? end - from - cursor.covered(from, end) : 0;
  };
}

function addKernels(pass: Pass, computing: Spans): void {
  const { trace, work, times, sorts, args, groups, builder } = pass;
  const { name, gpu } = trace.data;
  const known = new Map<number, number>();
  const exposedOf = exposure(computing);
  for (let i = 0; i < work.length; i++) {
    const row = work.row[i]!;
    if (sorts[name[row]!] !== WorkSort.comms) continue;
    const [start, end] = [work.start[i]!, work.end[i]!];
    const exposed = exposedOf(start, end);
    const { record, annotation } = hostCallsOf(pass, row, work.launchRow[i]!);
    const own = args.placeOf(row);
    // A grouped or coalesced collective runs as several kernels; they share the record, or its External id.
    const external = own >= 0 && trace.data.external[row] !== NO_ID ? -2 - trace.data.external[row]! : -1;
    const id = record >= 0 ? record : annotation >= 0 ? annotation : external;
    const before = id === -1 ? undefined : known.get(id);
    if (before !== undefined) {
      if (before >= 0) builder.extend(before, start, end, exposed);
      continue;
    }
    const places = [own, args.placeOf(record)].filter((p) => p >= 0);
    const kind = args.kind(places, [annotation, row]);
    const gpuPlace = indexInSorted(gpu.row, row);
    const stream = gpuPlace < 0 ? NO_I32 : gpu.stream[gpuPlace]!;
    const group = groups.placeOf(args.group(places), `stream ${stream}`);
    const dtype = args.dtype(places, annotation);
    const info = groups.groups[group]!;
    const step = times.stepOf[i]!;
    const place = builder.add({
      ...{ group, kind, dtype, start, end, exposed, onDevice: true },
      sequence: args.sequence(places),
      peer: args.peer(kind, places, info, annotation < 0 ? '' : trace.name(annotation)),
      bytes: args.bytes(kind, places, annotation, dtype, info.size),
      step: step < times.steps.length ? step : -1,
    });
    if (id !== -1) known.set(id, place);
  }
}

/** The calls around a kernel's launch; without a recorded launch the record that has its External id. */
function hostCallsOf({ trace, host, args }: Pass, row: number, launch: number) {
  const { ts, track, external } = trace.data;
  let [record, annotation] = [-1, -1];
  if (launch >= 0) {
    record = host.recordAround(track[launch]!, ts[launch]!);
    annotation = host.annotationAround(track[launch]!, ts[launch]!);
  }
  // Old profilers wrote the correlation id here, which may be some other record's: then the launch lies around it.
  if (
    record < 0 &&
    annotation < 0 &&
    external[row] !== NO_ID &&
    external[row] !== trace.data.correlation[row]
  )
    record = host.recordOf(external[row]!);
  if (args.movesNothing(args.placeOf(record))) record = -1;
  return { record, annotation };
}

function addHostSpans(pass: Pass, computing: Spans, blocking: Spans | null): void {
  const { trace, work, host, times, args, groups, builder } = pass;
  const { ts, dur } = trace.data;
  const recordOf = recordsOfSpans(pass);
  // Without a device it is the training threads that compute: what blocked them is known.
  const exposedOf =
    work.length === 0 && blocking
      ? exposure(gapsOf(blocking, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY))
      : exposure(computing);
  let step = 0;
  const begun: number[] = [];
  host.spans.forEach((row, i) => {
    const [asked, end] = [ts[row]!, ts[row]! + Math.max(0, dur[row]!)];
    const { steps } = times;
    while (step + 1 < steps.length && steps[step + 1]!.hostStart <= asked) step++;
    const inStep = steps[step] && asked >= steps[step]!.hostStart && asked <= steps[step]!.hostEnd;
    const places = [args.placeOf(row), args.placeOf(recordOf[i]!)].filter((p) => p >= 0);
    const kind = args.kind(places, [row]);
    const group = groups.placeOf(args.group(places), 'host');
    const info = groups.groups[group]!;
    const dtype = args.dtype(places, row);
    // In the order in which they were asked for: threads that the device wakes at once overtake each other.
    const start = Math.min(end, Math.max(host.readyAt(row), begun[group] ?? asked));
    begun[group] = start;
    builder.add({
      ...{ group, kind, dtype, start, end, onDevice: false, step: inStep ? step : -1 },
      sequence: args.sequence(places),
      peer: args.peer(kind, places, info, ''),
      bytes: args.bytes(kind, places, row, dtype, info.size),
      exposed: exposedOf(start, end),
    });
  });
}

/**
 * Spans on gloo's threads have no arguments; the record is on the thread that asked for them. Queues keep the order: the
 * k-th record of a kind is the k-th span, if there are as many. Records in records (a barrier that is an all-reduce) and
 * those of kernels are not counted.
 */
function recordsOfSpans({ trace, host, args }: Pass): Int32Array {
  const { ts, dur, track } = trace.data;
  const records = new Map<string, number[]>();
  const ends = new Map<number, number>();
  for (const row of host.records) {
    const place = args.placeOf(row);
    if (place < 0 || args.movesNothing(place)) continue;
    if (ts[row]! < (ends.get(track[row]!) ?? -1)) continue;
    ends.set(track[row]!, ts[row]! + dur[row]!);
    if (host.annotationAround(track[row]!, ts[row]! + dur[row]! / 2) >= 0) continue;
    push(records, args.kind([place], []), row);
  }
  const spans = new Map<string, number[]>();
  host.spans.forEach((row, i) => {
    push(spans, args.kind([], [row]), i);
  });
  const recordOf = new Int32Array(host.spans.length).fill(-1);
  for (const [kind, places] of spans) {
    const rows = records.get(kind);
    if (rows?.length !== places.length) continue;
    places.forEach((place, k) => {
      recordOf[place] = rows[k]!;
    });
  }
  return recordOf;
}

function push<K>(lists: Map<K, number[]>, key: K, value: number): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

function wholeNumber(text: string | null): bigint {
  return text !== null && /^-?\d{1,30}$/.test(text) ? BigInt(text) : 0n;
}
