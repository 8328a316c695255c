import { groupBy } from '../../base/group-by.js';
import { partitionPoint } from '../../base/search.js';
import { Category } from '../../model/category.js';
import { SYNCHRONIZES } from '../../model/host-names.js';
import { sortByTime } from '../../model/time-order.js';
import type { Trace } from '../../model/trace.js';
import { type KindInfo, NO_ID } from '../../model/trace-data.js';

/** `record_param_comms`: torch's record of a collective, with its arguments in traces of torch ≥ 2.1. */
const RECORD = 1;
/** `nccl:all_reduce` around the call that puts it on a stream; with the input's shape if shapes were recorded. */
const ANNOTATION = 2;
/** `gloo:all_reduce`, `mpi:…`, `ucc:…`: the collective itself, on the thread that runs it. */
const HOST_SPAN = 3;

function sortOfName(name: string): number {
  if (name === 'record_param_comms') return RECORD;
  if (/^(?:nccl|rccl|xccl|hccl):/.test(name)) return ANNOTATION;
  return /^(?:gloo|mpi|ucc):/.test(name) ? HOST_SPAN : 0;
}

/** Host calls that belong to collectives. */
export interface HostOps {
  /** Rows of collectives that run on the host, in order of start. */
  readonly spans: Uint32Array;
  /** Rows of records in order of start. */
  readonly records: Uint32Array;
  /** Row of the innermost record or annotation around a time on a track; −1: none. */
  readonly recordAround: (track: number, time: number) => number;
  readonly annotationAround: (track: number, time: number) => number;
  /** Row of the record with this `External id`; −1: none. */
  readonly recordOf: (external: number) => number;
  /** When a host collective could start: its thread first waits until the device has made what it is to send. */
  readonly readyAt: (span: number) => number;
}

export function findHostOps(trace: Trace): HostOps {
  const { data } = trace;
  const sortOf = trace.strings.memo(sortOfName);
  const isHost = (k: KindInfo) =>
    k.phase === 'X' && (k.category === Category.cpuOp || k.category === Category.annotation);
  const found = groupBy(
    trace.index.named(isHost, (text) => sortOfName(text) !== 0).filter((row) => !Number.isNaN(data.ts[row]!)),
    (row) => sortOf(data.name[row]!),
  );
  const inOrder = (sort: number) => sortByTime(Uint32Array.from(found.get(sort) ?? []), data.ts, data.dur);
  const records = inOrder(RECORD);
  const spans = inOrder(HOST_SPAN);
  const byExternal = new Map<number, number>();
  for (const row of records) if (data.external[row] !== NO_ID) byExternal.set(data.external[row]!, row);
  return {
    spans,
    records,
    recordAround: enclosing(trace, records),
    annotationAround: enclosing(trace, inOrder(ANNOTATION)),
    recordOf: (external) => byExternal.get(external) ?? -1,
    readyAt: readiness(trace, spans),
  };
}

/** ns. Waits at the head of a collective follow each other this fast. Later ones come after the transfer. */
const AT_ONCE = 500_000;

/**
 * Gloo copies tensors from the GPU to the host. Its span begins when it is called, and its thread then waits for the
 * device. Without this correction, a rank whose GPU is late would seem to take part as long as those that wait for it.
 */
function readiness(trace: Trace, spans: Uint32Array): (span: number) => number {
  const { ts, dur, track } = trace.data;
  const lists = rowsByTrack(trace, deviceWaits(trace, new Set(spans.map((row) => track[row]!))));
  return (span) => {
    const list = lists.get(track[span]!) ?? [];
    const end = ts[span]! + Math.max(0, dur[span]!);
    let ready = ts[span]!;
    for (let i = lastBefore(list, ts, ready) + 1; i < list.length; i++) {
      const [from, to] = [ts[list[i]!]!, ts[list[i]!]! + dur[list[i]!]!];
      if (from - ready > AT_ONCE || to > end) break;
      ready = Math.max(ready, to);
    }
    return ready;
  };
}

/** Rows of calls that wait for the device, on these tracks, in order of start. */
function deviceWaits(trace: Trace, tracks: ReadonlySet<number>): Uint32Array {
  const { data } = trace;
  if (tracks.size === 0) return new Uint32Array(0);
  const rows = trace.index
    .named(
      (k) => k.phase === 'X' && k.category === Category.runtime,
      (name) => SYNCHRONIZES.test(name),
    )
    .filter((row) => tracks.has(data.track[row]!) && !Number.isNaN(data.ts[row]!));
  return sortByTime(rows, data.ts, data.dur);
}

/** How many earlier calls are looked at: records nest two or three deep. */
const LOOK_BACK = 8;

/** Finds the row around a time. `rows` is in order of start. Cheaper than a tree of all calls: these are few. */
function enclosing(trace: Trace, rows: Uint32Array): (track: number, time: number) => number {
  const { ts, dur } = trace.data;
  const lists = rowsByTrack(trace, rows);
  return (onTrack, time) => {
    const list = lists.get(onTrack) ?? [];
    const last = lastBefore(list, ts, time);
    for (let i = last; i > Math.max(-1, last - LOOK_BACK); i--) {
      if (ts[list[i]!]! + dur[list[i]!]! >= time) return list[i]!;
    }
    return -1;
  };
}

function rowsByTrack(trace: Trace, rows: Uint32Array): ReadonlyMap<number, readonly number[]> {
  return groupBy(rows, (row) => trace.data.track[row]!);
}

/** Index of the last row that starts at `time` or before; −1: none. */
function lastBefore(rows: readonly number[], ts: Float64Array, time: number): number {
  return partitionPoint(rows.length, (i) => ts[rows[i]!]! <= time) - 1;
}
