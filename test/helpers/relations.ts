import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { decompress } from 'fzstd';
import { largest, smallest } from '../../src/base/statistics.js';

/** Ways to change a trace that must not change the answer, or must change it in a known way. Times in µs, as in the file. */

export interface TraceEvent {
  readonly name?: string;
  readonly cat?: string;
  readonly ph?: string;
  readonly ts?: number;
  readonly dur?: number;
  readonly pid?: number | string;
  readonly tid?: number | string;
  readonly id?: number | string;
  readonly args?: Readonly<Record<string, unknown>>;
}

export interface TraceFile {
  readonly traceEvents: readonly TraceEvent[];
}

export function readTraceFile(path: string): TraceFile {
  const bytes = readFileSync(path);
  const text = path.endsWith('.gz')
    ? gunzipSync(bytes)
    : path.endsWith('.zst')
      ? Buffer.from(decompress(bytes))
      : bytes;
  return JSON.parse(text.toString()) as TraceFile;
}

/** The file with other events. */
const withEvents = (file: TraceFile, traceEvents: readonly TraceEvent[]): TraceFile => ({
  ...file,
  traceEvents,
});
const mapped = (file: TraceFile, change: (event: TraceEvent) => TraceEvent): TraceFile =>
  withEvents(file, file.traceEvents.map(change));
const filtered = (file: TraceFile, keep: (event: TraceEvent) => boolean): TraceFile =>
  withEvents(file, file.traceEvents.filter(keep));

const isMark = ({ name }: TraceEvent) => name?.startsWith('ProfilerStep#') === true;
const GPU_CATEGORIES = new Set(['kernel', 'gpu_memcpy', 'gpu_memset']);
const isGpu = ({ cat = '' }: TraceEvent) => GPU_CATEGORIES.has(cat);
const isCall = ({ cat = '' }: TraceEvent) => cat === 'cuda_runtime' || cat === 'cuda_driver';
const isHostSpan = (e: TraceEvent) =>
  e.ph === 'X' &&
  (isCall(e) || e.cat === 'cpu_op' || e.cat === 'user_annotation' || e.cat === 'python_function');
const correlationOf = ({ args }: TraceEvent) => args?.correlation as number | undefined;

/** As of a job that never calls `prof.step()`. */
export const withoutMarks = (file: TraceFile) => filtered(file, (e) => !isMark(e));

export const shifted = (file: TraceFile, us: number) =>
  mapped(file, (e) => (e.ts === undefined ? e : { ...e, ts: e.ts + us }));

/** Everything takes `factor` times as long. */
export const scaled = (file: TraceFile, factor: number) => {
  const from = beginOf(file);
  return mapped(file, (e) =>
    e.ts === undefined
      ? e
      : { ...e, ts: from + (e.ts - from) * factor, ...(e.dur === undefined ? {} : { dur: e.dur * factor }) },
  );
};

export const reordered = (file: TraceFile, compare: (a: TraceEvent, b: TraceEvent) => number) =>
  withEvents(file, file.traceEvents.toSorted(compare));

export function shuffled(file: TraceFile, random: () => number): TraceFile {
  const events = [...file.traceEvents];
  for (let i = events.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [events[i], events[j]] = [events[j]!, events[i]!];
  }
  return withEvents(file, events);
}

/** Other numbers for processes and threads of the host, and for streams. */
export function renamed(file: TraceFile): TraceFile {
  const other = (id: number | string | undefined) => (typeof id === 'number' ? 7 * id + 100_003 : id);
  return mapped(file, (e) => {
    if (isGpu(e) || e.cat === 'gpu_user_annotation' || e.cat === 'ac2g' || e.pid === undefined) return e;
    return { ...e, pid: other(e.pid)!, ...(e.tid === undefined ? {} : { tid: other(e.tid)! }) };
  });
}

/**
 * In every marked step but the first, the host waits this long before anything else: for input if `waitsFor` names a request for a
 * batch, else for no recorded reason. What was launched before goes on meanwhile.
 */
export function withWaits(file: TraceFile, us: number, waitsFor: string | null): TraceFile {
  const marks = file.traceEvents.filter((e) => isMark(e) && e.cat === 'user_annotation');
  const starts = marks
    .map((e) => e.ts!)
    .sort((a, b) => a - b)
    .slice(1);
  const { pid, tid } = marks[0]!;
  const before = (time: number) => starts.filter((at) => at < time).length * us;
  const launched = new Map(file.traceEvents.filter(isCall).map((e) => [correlationOf(e), e.ts!] as const));
  const moved = file.traceEvents.map((e) => {
    if (e.ts === undefined) return e;
    if (isGpu(e) || e.cat === 'gpu_user_annotation') {
      const launch = launched.get(correlationOf(e)) ?? e.ts;
      return { ...e, ts: e.ts + before(launch) };
    }
    // The wait is inside what began right with the step.
    const dur = e.dur === undefined ? {} : { dur: e.dur + before(e.ts + e.dur) - before(e.ts) };
    return { ...e, ts: e.ts + before(e.ts), ...dur };
  });
  const waits = starts.flatMap((at, i) =>
    waitsFor === null
      ? []
      : [
          {
            ph: 'X',
            cat: 'user_annotation',
            name: waitsFor,
            pid: pid!,
            tid: tid!,
            ts: at + i * us + 0.5,
            dur: us - 1,
          },
        ],
  );
  return withEvents(file, [...moved, ...waits]);
}

/** Without the calls by which a loader's pin thread shows that a batch has arrived. */
export const withoutPins = (file: TraceFile) => filtered(file, (e) => e.name !== 'cudaPointerGetAttributes');

export const withoutCategories = (file: TraceFile, categories: readonly string[]) =>
  filtered(file, (e) => !categories.includes(e.cat ?? ''));

export const withTimesAsText = (file: TraceFile) =>
  mapped(file, (e) => ({
    ...e,
    ...(e.ts === undefined ? {} : { ts: e.ts.toFixed(3) as unknown as number }),
  }));

const beginOf = ({ traceEvents }: TraceFile): number =>
  traceEvents.reduce(
    (least, e) => (e.ph === 'X' && isHostSpan(e) ? Math.min(least, e.ts!) : least),
    Number.POSITIVE_INFINITY,
  );

/** A context and its libraries take this long to create; the first launch of a kernel loads its code. */
const CONTEXT_US = 600_000;
const LIBRARY_US = 40_000;
const LOAD_US = [2_000, 25_000] as const;
const FIRST_CORRELATION = 2_000_000_000;

/**
 * The same job recorded from its first iteration on: a copy of the first marked step comes first, in which a context and
 * libraries are created and every kernel is loaded at its first launch.
 */
export function withColdStart(file: TraceFile, random: () => number): TraceFile {
  const marks = file.traceEvents.filter((e) => isMark(e) && e.cat === 'user_annotation');
  const first = marks.reduce((a, b) => (b.ts! < a.ts! ? b : a));
  const [from, to] = [first.ts!, first.ts! + first.dur!];
  const inStep = file.traceEvents.filter((e) => isHostSpan(e) && e.ts! >= from && e.ts! < to);
  const calls = new Map(inStep.filter(isCall).map((e) => [correlationOf(e), e] as const));
  const works = file.traceEvents.filter(
    (e) => e.ph === 'X' && isGpu(e) && correlationOf(e) !== undefined && calls.has(correlationOf(e)),
  );
  const delays = delaysOf(works, calls, random);
  const warp = (time: number) => delays.reduce((sum, d) => (d.at < time ? sum + d.us : sum), time);
  const again = (id: number | undefined) =>
    id === undefined ? {} : { correlation: FIRST_CORRELATION - 1_000_000 + (id % 1_000_000) };
  const late = deviceTimes(works, (e) => warp(calls.get(correlationOf(e))!.ts! + 0.001));
  // Work of steps before the recording is not this job's. The device is done with the cold step before it begins with the next.
  const launched = new Set(file.traceEvents.filter(isCall).map(correlationOf));
  const kept = file.traceEvents.filter(
    (e) => e.cat !== 'gpu_user_annotation' && (!isGpu(e) || launched.has(correlationOf(e))),
  );
  const busyFrom = smallest(kept.filter((e) => e.ph === 'X' && isGpu(e)).map((e) => e.ts!));
  const done = largest(late.map(({ end }) => end));
  const before = Math.max(warp(to) - from, done - busyFrom) + 5;
  // Where it was still busy with earlier work then, it is as far behind the host.
  const earlier = file.traceEvents.filter((e) => isGpu(e) && !launched.has(correlationOf(e)));
  const wasBusy = largest(earlier.map((e) => e.ts! + (e.dur ?? 0))) > busyFrom - BACK_TO_BACK_US;
  const behind = wasBusy ? busyFrom - 1 - (done - before) : 0;
  const device = late.map(({ work, start }) => {
    const { 'External id': _, ...args } = work.args ?? {};
    return { ...work, ts: start - before + behind, args: { ...args, ...again(correlationOf(work)) } };
  });
  const host = inStep.map((e) => {
    const ts = warp(e.ts!);
    return {
      ...e,
      ts: ts - before,
      dur: warp(e.ts! + (e.dur ?? 0)) - ts,
      ...(isMark(e) ? { name: `ProfilerStep#${Number(e.name!.split('#')[1]) - 1}` } : {}),
      args: { ...e.args, ...again(correlationOf(e)) },
    };
  });
  return withEvents(file, [...kept, ...host, ...device]);
}

/** When the device does what was launched: after the launch, and after what is before it on its stream. */
function deviceTimes(works: readonly TraceEvent[], launched: (work: TraceEvent) => number) {
  const free = new Map<unknown, number>();
  return works
    .toSorted((a, b) => a.ts! - b.ts!)
    .map((work) => {
      const start = Math.max(launched(work) + LATENCY_US, free.get(work.tid) ?? 0);
      const end = start + (work.dur ?? 0);
      free.set(work.tid, end);
      return { work, start, end };
    });
}
const LATENCY_US = 5;
const BACK_TO_BACK_US = 100;

/** When the host of a cold step is held up, and for how long. */
function delaysOf(
  works: readonly TraceEvent[],
  calls: ReadonlyMap<number | undefined, TraceEvent>,
  random: () => number,
) {
  const loaded = new Set<string>();
  const inOrder = works
    .map((work) => ({ work, call: calls.get(correlationOf(work))! }))
    .sort((a, b) => a.call.ts! - b.call.ts!);
  return inOrder.flatMap(({ work, call }, i) => {
    const isNew = !loaded.has(work.name!);
    loaded.add(work.name!);
    const load = isNew ? LOAD_US[0] + random() ** 3 * (LOAD_US[1] - LOAD_US[0]) : 0;
    const library = isNew && /gemm|cudnn|conv/i.test(work.name!) && random() < 0.3 ? LIBRARY_US : 0;
    const us = load + library + (i === 0 ? CONTEXT_US : 0);
    return us > 0 ? [{ at: call.ts!, us }] : [];
  });
}
