import { inBlocks } from '../../base/blocks.js';
import { groupBy } from '../../base/group-by.js';
import { type Spans, subtract, union, unionOf, unionOfSpans } from '../../base/intervals.js';
import { partitionPoint } from '../../base/search.js';
import { largest, smallest } from '../../base/statistics.js';
import { Category } from '../../model/category.js';
import { isHostCall } from '../../model/extents.js';
import {
  COMPILES,
  HOST_COLLECTIVE,
  LOADS_IN_MAIN,
  LOADS_IN_WORKERS,
  OPTIMIZER_STEP,
  SYNCHRONIZES,
  WAITS_FOR_DATA,
} from '../../model/host-names.js';
import type { Trace } from '../../model/trace.js';
import type { KindInfo } from '../../model/trace-data.js';
import type { GpuWork } from './gpu-work.js';

export const DATA_SPAN = 1;
export const SYNC_SPAN = 2;
export const COMPILE_SPAN = 3;
export const COLLECTIVE_SPAN = 4;
export const OPTIMIZER_SPAN = 5;

interface HostSpan {
  readonly kind: number;
  readonly row: number;
  readonly track: number;
  readonly start: number;
  readonly end: number;
}

/** The training threads, which issue the GPU work, and what they wait for. */
export interface HostSpans {
  /** Track of the thread that runs the loop; −1: the trace has no host events. */
  readonly main: number;
  /** Tracks of the training threads, the main one first. */
  readonly threads: readonly number[];
  /** First start and last end of host events on these threads, or of GPU work where there are none. */
  readonly from: number;
  readonly to: number;
  /** The outermost spans of a kind on the training threads, in order of time. */
  ofKind(kind: number): readonly HostSpan[];
  /** Waits without overlap: input before compiling before collectives before synchronizing. */
  readonly waits: {
    readonly data: Spans;
    readonly compile: Spans;
    readonly comms: Spans;
    readonly sync: Spans;
  };
  /** Times in which a loader is started again, with its workers. */
  readonly restarts: readonly LoaderRestart[];
  /** Requests for a batch, by where the loader works. */
  readonly loaders: { readonly inMain: number; readonly inWorkers: number };
}

/** The end of an epoch: from the request that finds the loader exhausted to the first request to the next iterator. */
interface LoaderRestart {
  readonly start: number;
  readonly end: number;
}

/** A thread with a smaller share of the launches (a prefetcher's copies) is no training thread. */
const TRAINING_THREAD_SHARE = 0.05;

export function findHostSpans(trace: Trace, work: GpuWork): HostSpans {
  const { data } = trace;
  const threads = trainingThreads(trace, work);
  const main = threads[0] ?? -1;
  const onThread = new Uint8Array(data.tracks.length);
  for (const t of threads) onThread[t] = 1;
  const found = collect(trace, onThread);
  const byKind = groupBy(outermost(found.spans), (s) => s.kind);
  const ofKind = (kind: number): readonly HostSpan[] => byKind.get(kind) ?? [];
  const restarts = findRestarts(trace, work, ofKind(DATA_SPAN), main);
  const spansOf = (kind: number) => unionOfSpans(ofKind(kind));
  const input = union(spansOf(DATA_SPAN), unionOfSpans(restarts));
  const compile = subtract(spansOf(COMPILE_SPAN), input);
  const first = union(input, compile);
  const comms = subtract(blockingCollectives(trace, ofKind(COLLECTIVE_SPAN), onThread), first);
  const sync = subtract(spansOf(SYNC_SPAN), union(first, comms));
  return {
    main,
    threads,
    from: found.from,
    to: found.to,
    ofKind,
    waits: { data: input, compile, comms, sync },
    restarts,
    loaders: found.loaders,
  };
}

/** The same with input waits that were inferred (inferred-input.ts). */
export function withInferredInput(host: HostSpans, inferred: Spans): HostSpans {
  if (inferred.length === 0) return host;
  const { waits } = host;
  return {
    ...host,
    waits: {
      data: union(waits.data, inferred),
      compile: subtract(waits.compile, inferred),
      comms: subtract(waits.comms, inferred),
      sync: subtract(waits.sync, inferred),
    },
  };
}

/** A collective on a thread of its own (gloo) blocks training only while the training threads run no operator. */
function blockingCollectives(trace: Trace, spans: readonly HostSpan[], onThread: Uint8Array): Spans {
  const inPlace = unionOfSpans(spans.filter((s) => onThread[s.track] === 1));
  const elsewhere = unionOfSpans(spans.filter((s) => onThread[s.track] === 0));
  return elsewhere.length === 0 ? inPlace : union(inPlace, subtract(elsewhere, operatorsOn(trace, onThread)));
}

function operatorsOn(trace: Trace, onThread: Uint8Array): Spans {
  const { ts, dur, track } = trace.data;
  // Waiting for a collective is recorded as an operator of c10d.
  const rows = trace.index
    .ofKinds(isOperator)
    .filter(
      (row) => onThread[track[row]!] === 1 && dur[row]! > 0 && !WAITS_FOR_COLLECTIVE.test(trace.name(row)),
    );
  return unionOf(Array.from(rows, (row) => [ts[row]!, ts[row]! + dur[row]!]));
}
const isOperator = (k: KindInfo) => k.phase === 'X' && k.category === Category.cpuOp;
/** Without them, nothing shows what the host does between its CUDA calls. */
export const hasOperators = ({ data }: Trace): boolean =>
  data.kinds.some((k) => isOperator(k) && k.events > 0);
const WAITS_FOR_COLLECTIVE = /^(?:c10d|record_param_comms|nccl|gloo)/;

/** The thread with the steps, or with most launches; then all others with a sizeable share of the launches. */
function trainingThreads(trace: Trace, work: GpuWork): number[] {
  const { data } = trace;
  const launches = new Map<number, number>();
  inBlocks(work.length, (from, to) => {
    for (let i = from; i < to; i++) {
      const row = work.launchRow[i]!;
      if (row >= 0) launches.set(data.track[row]!, (launches.get(data.track[row]!) ?? 0) + 1);
    }
  });
  const most = [...launches].sort((a, b) => b[1] - a[1]);
  const total = most.reduce((n, [, count]) => n + count, 0);
  const busy = most.filter(([, count]) => count >= total * TRAINING_THREAD_SHARE).map(([t]) => t);
  const main = trace.steps[0]?.track ?? busy[0] ?? busiestHostTrack(trace);
  return main < 0 ? [] : [main, ...busy.filter((t) => t !== main)];
}

function busiestHostTrack(trace: Trace): number {
  const counts = new Uint32Array(trace.data.tracks.length);
  for (const row of trace.index.ofKinds(isOperator)) counts[trace.data.track[row]!]!++;
  return counts.some((n) => n > 0) ? counts.indexOf(largest(counts)) : -1;
}

function collect(trace: Trace, onThread: Uint8Array) {
  const { name, track, ts, dur } = trace.data;
  const kindOfName = trace.strings.memo(kindOf);
  const loaders = { inMain: 0, inWorkers: 0 };
  const spans: HostSpan[] = [];
  for (const row of trace.index.named(isHostCall, (text) => kindOf(text) !== 0)) {
    const spanKind = kindOfName(name[row]!);
    // Gloo's collectives run on threads of their own, and the training thread that waits for them records nothing.
    if (onThread[track[row]!] === 0 && spanKind !== COLLECTIVE_SPAN) continue;
    const start = ts[row]!;
    spans.push({ kind: spanKind, row, track: track[row]!, start, end: start + Math.max(0, dur[row]!) });
    if (spanKind !== DATA_SPAN) continue;
    if (LOADS_IN_MAIN.test(trace.name(row))) loaders.inMain++;
    else if (LOADS_IN_WORKERS.test(trace.name(row))) loaders.inWorkers++;
  }
  return { spans, loaders, ...extentOf(trace, onThread) };
}

/** First start and last end of host calls on these threads, or of GPU work where there are none. */
function extentOf(trace: Trace, onThread: Uint8Array): { from: number; to: number } {
  const { hostFrom, hostTo } = trace.extents;
  const from = smallest(hostFrom.filter((_, t) => onThread[t] === 1));
  const to = largest(hostTo.filter((_, t) => onThread[t] === 1));
  return to >= from ? { from, to } : gpuExtent(trace);
}

function gpuExtent(trace: Trace): { from: number; to: number } {
  const { ts, dur } = trace.data;
  let from = Number.POSITIVE_INFINITY;
  let to = Number.NEGATIVE_INFINITY;
  for (const row of trace.links.work) {
    from = Math.min(from, ts[row]!);
    to = Math.max(to, ts[row]! + dur[row]!);
  }
  return to >= from ? { from, to } : { from: 0, to: 0 };
}

function kindOf(name: string): number {
  if (name.length > 2000) return 0;
  if (SYNCHRONIZES.test(name)) return SYNC_SPAN;
  if (OPTIMIZER_STEP.test(name)) return OPTIMIZER_SPAN;
  if (WAITS_FOR_DATA.test(name)) return DATA_SPAN;
  if (COMPILES.test(name)) return COMPILE_SPAN;
  if (HOST_COLLECTIVE.test(name)) return COLLECTIVE_SPAN;
  return 0;
}

/** In order of time, without spans inside another of their kind. */
function outermost(spans: readonly HostSpan[]): HostSpan[] {
  const ends = new Map<number, number>();
  return spans
    .toSorted((a, b) => a.start - b.start || b.end - a.end)
    .filter(({ kind, end }) => {
      if (end <= (ends.get(kind) ?? Number.NEGATIVE_INFINITY)) return false;
      ends.set(kind, end);
      return true;
    });
}

/** Two requests for a batch without a launch in between: the first found the loader exhausted. */
function findRestarts(trace: Trace, work: GpuWork, data: readonly HostSpan[], main: number): LoaderRestart[] {
  const requests = data.filter((s) => s.track === main);
  if (requests.length < 2) return [];
  const used = batchesUsed(trace, work, requests, main);
  // Without launches of its own a used batch and an exhausted loader look alike on the thread.
  if (used === null) return [];
  const restarts: LoaderRestart[] = [];
  for (let i = 1; i < requests.length; i++)
    if (used[i - 1] === 0) restarts.push({ start: requests[i - 1]!.start, end: requests[i]!.start });
  return restarts;
}

/** For each request, 1 where the thread launches work after it and before the next. Null: the thread launches nothing. */
function batchesUsed(
  trace: Trace,
  work: GpuWork,
  requests: readonly HostSpan[],
  main: number,
): Uint8Array | null {
  const { ts, track } = trace.data;
  const used = new Uint8Array(requests.length);
  let at = 0;
  let launches = 0;
  inBlocks(work.length, (from, to) => {
    for (let i = from; i < to; i++) {
      const row = work.launchRow[i]!;
      if (row < 0 || track[row] !== main) continue;
      launches++;
      const time = ts[row]!;
      // Mostly after the same request as the launch before.
      if (time < requests[at]!.end || (at + 1 < requests.length && time >= requests[at + 1]!.end))
        at = Math.max(0, partitionPoint(requests.length, (k) => requests[k]!.end <= time) - 1);
      const isBeforeNext = at + 1 === requests.length || time < requests[at + 1]!.start;
      if (time >= requests[at]!.end && isBeforeNext) used[at] = 1;
    }
  });
  return launches === 0 ? null : used;
}
