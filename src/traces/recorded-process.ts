import { Category } from '../model/category.js';
import { kindMask, type Trace } from '../model/trace.js';
import { NO_ID } from '../model/trace-data.js';

/** The process that a trace was recorded in. */
export interface RecordedProcess {
  /** Of the first operator or annotation. Null: there is none. */
  readonly pid: string | null;
  /**
   * An earlier profiler of this process was still attached to the GPU. It stays attached after it has recorded, unless
   * TEARDOWN_CUPTI is set, and slows every CUDA call. Null: the trace does not tell.
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
  const isOperator = kindMask(data, (c) => c === Category.cpuOp);
  const isHost = kindMask(data, (c) => c === Category.cpuOp || c === Category.annotation);
  const isCall = kindMask(data, (c) => c === Category.runtime || c === Category.driver);
  const operators = new Lowest();
  const calls = new Lowest();
  let hostRow = -1;
  for (let row = 0; row < data.rows; row++) {
    const kind = data.kind[row]!;
    if (hostRow < 0 && isHost[kind]) hostRow = row;
    if (isOperator[kind]) operators.add(data.external[row]!);
    else if (isCall[kind]) calls.add(data.correlation[row]!);
  }
  const isFirst = operators.low <= BLOCK;
  const isFresh = calls.low < calls.high - calls.low;
  const tells = operators.count >= MIN_OPERATORS && calls.count > 0;
  return {
    pid: hostRow < 0 ? null : (data.tracks[data.track[hostRow]!]?.pid ?? null),
    wasAttached: tells ? !isFirst && !isFresh : null,
  };
}

class Lowest {
  count = 0;
  low = Number.POSITIVE_INFINITY;
  high = Number.NEGATIVE_INFINITY;

  add(id: number): void {
    if (id === NO_ID) return;
    this.count++;
    if (id < this.low) this.low = id;
    if (id > this.high) this.high = id;
  }
}
