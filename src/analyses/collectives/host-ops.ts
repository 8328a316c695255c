import { Category } from '../../model/category.js';
import { sortByTime } from '../../model/time-order.js';
import { kindMask, type Trace } from '../../model/trace.js';
import { NO_ID } from '../../model/trace-data.js';

/** `record_param_comms`: torch's record of a collective, with its arguments in traces of torch ≥ 2.1. */
const RECORD = 1;
/** `nccl:all_reduce` around the call that puts it on a stream; with the input's shape if shapes were recorded. */
const ANNOTATION = 2;
/** `gloo:all_reduce`, `mpi:…`, `ucc:…`: the collective itself, on the thread that does it. */
const HOST_SPAN = 3;

function sortOfName(name: string): number {
  if (name === 'record_param_comms') return RECORD;
  if (/^(?:nccl|rccl|xccl|hccl):/.test(name)) return ANNOTATION;
  return /^(?:gloo|mpi|ucc):/.test(name) ? HOST_SPAN : 0;
}

/** Calls of the host that belong to collectives. */
export interface HostOps {
  /** Rows of collectives that run on the host, in order of start. */
  readonly spans: Uint32Array;
  /** Rows of records in order of start. */
  readonly records: Uint32Array;
  /** The innermost record or annotation around a moment of a track; −1: none. */
  readonly recordAround: (track: number, at: number) => number;
  readonly annotationAround: (track: number, at: number) => number;
  /** Row of the record with this `External id`; −1: none. */
  readonly recordOf: (external: number) => number;
}

export function findHostOps(trace: Trace): HostOps {
  const { data } = trace;
  const isHost = kindMask(
    data,
    (c, phase) => phase === 'X' && (c === Category.cpuOp || c === Category.annotation),
  );
  const sortOf = trace.strings.memo(sortOfName);
  const found: number[][] = [[], [], [], []];
  for (let row = 0; row < data.rows; row++) {
    if (isHost[data.kind[row]!] === 0) continue;
    const sort = sortOf(data.name[row]!);
    if (sort !== 0 && !Number.isNaN(data.ts[row]!)) found[sort]!.push(row);
  }
  const inOrder = (sort: number) => sortByTime(Uint32Array.from(found[sort]!), data.ts, data.dur);
  const records = inOrder(RECORD);
  const byExternal = new Map<number, number>();
  for (const row of records) if (data.external[row] !== NO_ID) byExternal.set(data.external[row]!, row);
  return {
    spans: inOrder(HOST_SPAN),
    records,
    recordAround: enclosing(trace, records),
    annotationAround: enclosing(trace, inOrder(ANNOTATION)),
    recordOf: (external) => byExternal.get(external) ?? -1,
  };
}

/** How many earlier calls are asked: records nest two or three deep. */
const LOOK_BACK = 8;

/** Rows in order of start. A few thousand of millions: cheaper than the nesting of every call. */
function enclosing(trace: Trace, rows: Uint32Array): (track: number, at: number) => number {
  const { ts, dur, track } = trace.data;
  const lists = new Map<number, number[]>();
  for (const row of rows) {
    const list = lists.get(track[row]!);
    if (list) list.push(row);
    else lists.set(track[row]!, [row]);
  }
  return (onTrack, at) => {
    const list = lists.get(onTrack);
    if (!list) return -1;
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ts[list[middle]!]! <= at) low = middle + 1;
      else high = middle;
    }
    for (let i = low - 1; i >= Math.max(0, low - LOOK_BACK); i--) {
      if (ts[list[i]!]! + dur[list[i]!]! >= at) return list[i]!;
    }
    return -1;
  };
}
