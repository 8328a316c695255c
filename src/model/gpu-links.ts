import { inBlocks } from '../base/blocks.js';
import { Category, isGpuWork } from './category.js';
import type { RowIndex } from './row-index.js';
import type { StringTable } from './string-table.js';
import { NO_ID, type TraceData } from './trace-data.js';

/** GPU work joined to the host call that started it, by correlation id. */
export interface GpuLinks {
  /** Rows of kernels, copies and fills, in file order. */
  readonly work: Uint32Array;
  /** For each of them, the row of the runtime or driver call that launched it; −1 when the trace has none. */
  readonly launch: Int32Array;
  readonly workWithoutLaunch: number;
  /** Calls that start GPU work, by their name, but have none in the trace. */
  readonly launchesWithoutWork: number;
  readonly launches: number;
}

/** Runtime and driver calls that put work on a stream. */
const STARTS_WORK =
  /^(?:cuda|cu|hip|musa|zeEnqueue|ur)\w*(?:Launch|MemcpyAsync|Memcpy[A-Z]\w*Async|MemsetAsync|MemsetD\d+Async)/i;
/** Of those, the ones whose work may run elsewhere, or that may start none. */
const MAY_BE_EMPTY = /HostFunc|Cooperative.*MultiDevice|LaunchAttribute|GraphLaunch/i;

/** Whether a call of this name always puts work on a stream. */
export const startsGpuWork = (name: string): boolean => STARTS_WORK.test(name) && !MAY_BE_EMPTY.test(name);

export function linkGpuWork(data: TraceData, strings: StringTable, index: RowIndex): GpuLinks {
  const { correlation, name } = data;
  const calls = index.ofKinds((k) => k.category === Category.runtime || k.category === Category.driver);
  const work = index.ofKinds((k) => k.phase === 'X' && isGpuWork(k.category));
  const callWith = lookupByCorrelation(calls, correlation);
  const used = new Uint8Array(calls.length);
  const launch = new Int32Array(work.length);
  let workWithoutLaunch = 0;
  inBlocks(work.length, (from, to) => {
    for (let i = from; i < to; i++) {
      const c = correlation[work[i]!]!;
      const call = c === NO_ID ? -1 : callWith(c);
      launch[i] = call < 0 ? -1 : calls[call]!;
      if (call < 0) workWithoutLaunch++;
      else used[call] = 1;
    }
  });
  const startsWork = strings.memo((text) => Number(startsGpuWork(text)));
  let launches = 0;
  let launchesWithoutWork = 0;
  inBlocks(calls.length, (from, to) => {
    for (let i = from; i < to; i++) {
      if (startsWork(name[calls[i]!]!) === 0) continue;
      launches++;
      launchesWithoutWork += 1 - used[i]!;
    }
  });
  return { work, launch, workWithoutLaunch, launches, launchesWithoutWork };
}

/** From a correlation id to the index in `calls` of the last call that has it; −1 when none has. */
function lookupByCorrelation(calls: Uint32Array, correlation: Uint32Array): (id: number) => number {
  let min = NO_ID;
  let max = 0;
  inBlocks(calls.length, (from, to) => {
    for (let i = from; i < to; i++) {
      const id = correlation[calls[i]!]!;
      if (id === NO_ID) continue;
      if (id < min) min = id;
      if (id > max) max = id;
    }
  });
  if (max < min) return () => -1; // no call has an id
  // Ids are nearly always dense, though not from zero: an array then, a map otherwise.
  if (max - min < Math.max(calls.length * 16, 1 << 16)) {
    const indexPlusOne = new Int32Array(max - min + 1); // 0 means none
    inBlocks(calls.length, (from, to) => {
      for (let i = from; i < to; i++) {
        const id = correlation[calls[i]!]!;
        if (id !== NO_ID) indexPlusOne[id - min] = i + 1;
      }
    });
    return (id) => (id >= min && id <= max ? indexPlusOne[id - min]! - 1 : -1);
  }
  const index = new Map<number, number>();
  for (let i = 0; i < calls.length; i++) index.set(correlation[calls[i]!]!, i);
  return (id) => index.get(id) ?? -1;
}
