import { inBlocks } from '../base/blocks.js';
import { Category } from '../model/category.js';
import { kindMask, type Trace } from '../model/trace.js';
import { NO_ID, type TraceData } from '../model/trace-data.js';
import { acceleratorOf } from './accelerator.js';

/** The process that a trace was recorded in. */
export interface RecordedProcess {
  /** Of the first operator or annotation. Null: there is none. */
  readonly pid: string | null;
  /**
   * An earlier profiler of this process was still attached to the GPU. It stays attached after it has recorded, unless
   * TEARDOWN_CUPTI is set, and slows every CUDA call. Null: the trace does not show it.
   */
  readonly wasAttached: boolean | null;
}

/** torch hands out external ids in blocks of this many. They continue from one recording of a process to the next. */
const BLOCK = 512;
/** Someone may have cut pieces out of a trace with fewer operators. */
const MIN_OPERATORS = 100;

/**
 * Three windows of one process (torch 2.13) began with the external ids 2, 514 and 1026. Of 67 traces with enough
 * operators, 35 begin at 1 to 5 and 32 at 13,827 or more, 29 of them from a process that is known to have been profiled
 * before. CUPTI numbers calls from the moment it was attached, so a low number there means a fresh start.
 */
export function recordedProcess(trace: Trace): RecordedProcess {
  const { data } = trace;
  const isOf = (...wanted: readonly Category[]) => kindMask(data, (c) => wanted.includes(c));
  const operators = idsOf(data, isOf(Category.cpuOp), data.external);
  const calls = idsOf(data, isOf(Category.runtime, Category.driver), data.correlation);
  const isHost = isOf(Category.cpuOp, Category.annotation);
  const hostRow = data.kind.findIndex((kind) => isHost[kind] === 1);
  const isFirst = operators.low <= BLOCK;
  const isFresh = calls.low < calls.high - calls.low;
  // Only CUPTI stays attached.
  const { kind } = acceleratorOf(trace);
  if (kind !== 'cuda' && kind !== 'none') return { pid: pidOf(data, hostRow), wasAttached: false };
  const tells = operators.count >= MIN_OPERATORS && calls.count > 0;
  return {
    pid: pidOf(data, hostRow),
    wasAttached: tells ? !isFirst && !isFresh : null,
  };
}

const pidOf = ({ tracks, track }: TraceData, row: number): string | null =>
  row < 0 ? null : (tracks[track[row]!]?.pid ?? null);

/** How many rows of these kinds have an id, and the lowest and highest of them. */
function idsOf({ rows, kind }: TraceData, ofKind: Uint8Array, ids: Uint32Array) {
  const found = { count: 0, low: Number.POSITIVE_INFINITY, high: Number.NEGATIVE_INFINITY };
  inBlocks(rows, (from, to) => {
    let { count, low, high } = found;
    for (let row = from; row < to; row++) {
      const id = ids[row]!;
      if (ofKind[kind[row]!] === 0 || id === NO_ID) continue;
      count++;
      if (id < low) low = id;
      if (id > high) high = id;
    }
    Object.assign(found, { count, low, high });
  });
  return found;
}
