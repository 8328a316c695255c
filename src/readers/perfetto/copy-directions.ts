import { Category } from '../../model/category.js';
import { NO_ID, type TraceData } from '../../model/trace-data.js';
import { copyName, UNTOLD_COPY } from '../common/trace-rows/copy-names.js';
import type { Tokens } from './tokens.js';

/** A call takes up to about 20 us by itself. In a longer one the host waits for the copy. ns. */
const LEAST_COPY = 50_000;
/** Of a copy, during which the host is in the call. */
const LEAST_SHARE = 0.5;
/** The operator behind `.item()`. */
const SCALAR = 'aten::_local_scalar_dense';

/** Ids of strings. Made before the first row, so that they fit any column. */
export interface CopyTokens {
  readonly untold: number;
  readonly toDevice: number;
  readonly toHost: number;
  readonly scalarToHost: number;
  readonly scalarOperator: number;
}

export const copyTokens = (tokens: Tokens): CopyTokens => ({
  untold: tokens.ofText(UNTOLD_COPY),
  toDevice: tokens.ofText(copyName('HtoD', 'pageable', 'device')),
  toHost: tokens.ofText(copyName('DtoH', 'device', 'pageable')),
  scalarToHost: tokens.ofText(copyName('DtoH', 'device', 'pinned')),
  scalarOperator: tokens.ofText(SCALAR),
});

/**
 * Render stages do not say in which direction a copy goes. Where memory of the host is pageable, the call tells (CUDA
 * documents it as "API synchronization behavior"): a copy to the host returns when the data is there, after the device is
 * done; a copy to the device returns when the last piece is staged, before the device is done. Copies of pinned memory return
 * at once in both directions and stay untold, except for those of `.item()`. Changes names.
 */
export function tellCopies(
  trace: TraceData,
  names: CopyTokens,
): { readonly told: number; readonly untold: number } {
  const copies = rowsWith(trace, (row) => trace.name[row] === names.untold);
  if (copies.length === 0) return { told: 0, untold: 0 };
  const callOf = callsOf(trace, new Set(copies.map((row) => trace.correlation[row]!)));
  const isInScalar = scalarsOf(trace, names.scalarOperator);
  let [told, untold] = [0, 0];
  for (const row of copies) {
    const call = callOf.get(trace.correlation[row]!);
    const name =
      call === undefined ? 0 : isInScalar(call) ? names.scalarToHost : directionOf(trace, row, call, names);
    if (name !== 0) {
      trace.name[row] = name;
      told++;
    } else if (trace.dur[row]! >= LEAST_COPY) untold++;
  }
  return { told, untold };
}

/** 0: not known. */
function directionOf({ ts, dur }: TraceData, copy: number, call: number, names: CopyTokens): number {
  const [start, end] = [ts[copy]!, ts[copy]! + dur[copy]!];
  const returned = ts[call]! + dur[call]!;
  if (end - start < LEAST_COPY || ts[call]! > start) return 0;
  if (returned >= end) return names.toHost;
  return returned - start >= LEAST_SHARE * (end - start) ? names.toDevice : 0;
}

function rowsWith(trace: TraceData, test: (row: number) => boolean): number[] {
  const found: number[] = [];
  for (let row = 0; row < trace.rows; row++) if (test(row)) found.push(row);
  return found;
}

function callsOf(trace: TraceData, wanted: ReadonlySet<number>): ReadonlyMap<number, number> {
  const isCall = trace.kinds.map((k) => k.category === Category.runtime || k.category === Category.driver);
  const calls = new Map<number, number>();
  for (let row = 0; row < trace.rows; row++) {
    const id = trace.correlation[row]!;
    if (isCall[trace.kind[row]!] && id !== NO_ID && wanted.has(id)) calls.set(id, row);
  }
  return calls;
}

/** Whether a call was made by the operator behind `.item()`, which reads one value from the GPU. */
function scalarsOf(trace: TraceData, operator: number): (call: number) => boolean {
  const byTrack = new Map<number, number[]>();
  for (const row of rowsWith(trace, (r) => trace.name[r] === operator)) {
    const known = byTrack.get(trace.track[row]!);
    if (known) known.push(row);
    else byTrack.set(trace.track[row]!, [row]);
  }
  for (const rows of byTrack.values()) rows.sort((a, b) => trace.ts[a]! - trace.ts[b]!);
  return (call) => {
    const rows = byTrack.get(trace.track[call]!);
    const time = trace.ts[call]!;
    if (!rows) return false;
    let [from, to] = [0, rows.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (trace.ts[rows[middle]!]! <= time) from = middle + 1;
      else to = middle;
    }
    const before = rows[from - 1];
    return before !== undefined && trace.ts[before]! + trace.dur[before]! >= time;
  };
}
