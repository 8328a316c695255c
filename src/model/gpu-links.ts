import { Category, isGpuWork } from './category.js';
import type { StringTable } from './string-table.js';
import { NO_ID, type TraceData } from './trace-data.js';

/** GPU work joined to the host call that started it, by correlation id. */
export interface GpuLinks {
  /** Rows of kernels, copies and fills, in file order. */
  readonly work: Uint32Array;
  /** For each of them the row of the launching runtime or driver call; −1 when the trace has none. */
  readonly launch: Int32Array;
  readonly workWithoutLaunch: number;
  /** Calls that start GPU work (by name) but have none in the trace. */
  readonly launchesWithoutWork: number;
  readonly launches: number;
}

/** Runtime and driver calls that put work on a stream. */
const STARTS_WORK = /^(?:cuda|cu|hip|musa|zeEnqueue|ur)\w*(?:Launch|MemcpyAsync|Memcpy[A-Z]\w*Async|MemsetAsync|MemsetD\d+Async)/i;
/** Of those, the ones that may do so elsewhere or not at all. */
const MAY_BE_EMPTY = /HostFunc|Cooperative.*MultiDevice|LaunchAttribute|GraphLaunch/i;

export function linkGpuWork(data: TraceData, strings: StringTable): GpuLinks {
  const isHost = Uint8Array.from(data.kinds, (k) => Number(k.category === Category.runtime || k.category === Category.driver));
  const isWork = Uint8Array.from(data.kinds, (k) => Number(k.phase === 'X' && isGpuWork(k.category)));
  const { kind, correlation } = data;
  let workCount = 0;
  let maxCorrelation = 0;
  let hostCount = 0;
  for (let row = 0; row < data.rows; row++) {
    workCount += isWork[kind[row]!]!;
    if (isHost[kind[row]!] === 0) continue;
    hostCount++;
    const c = correlation[row]!;
    if (c !== NO_ID && c > maxCorrelation) maxCorrelation = c;
  }
  const hostRow = rowIndex(hostCount, maxCorrelation);
  for (let row = 0; row < data.rows; row++) {
    if (isHost[kind[row]!] === 1 && correlation[row] !== NO_ID) hostRow.set(correlation[row]!, row);
  }
  const work = new Uint32Array(workCount);
  const launch = new Int32Array(workCount);
  const used = new Uint8Array((data.rows >> 3) + 1);
  let n = 0;
  let orphans = 0;
  for (let row = 0; row < data.rows; row++) {
    if (isWork[kind[row]!] === 0) continue;
    const c = correlation[row]!;
    const from = c === NO_ID ? -1 : hostRow.get(c);
    work[n] = row;
    launch[n++] = from;
    if (from < 0) orphans++;
    else used[from >> 3]! |= 1 << (from & 7);
  }
  return { work, launch, workWithoutLaunch: orphans, ...countEmptyLaunches(data, strings, isHost, used) };
}

function countEmptyLaunches(data: TraceData, strings: StringTable, isHost: Uint8Array, used: Uint8Array) {
  const startsWork = new Uint8Array(strings.size);
  for (const id of strings.idsWhere((t) => STARTS_WORK.test(t) && !MAY_BE_EMPTY.test(t))) startsWork[id] = 1;
  let launches = 0;
  let launchesWithoutWork = 0;
  for (let row = 0; row < data.rows; row++) {
    if (isHost[data.kind[row]!] === 0 || startsWork[data.name[row]!] === 0) continue;
    launches++;
    if ((used[row >> 3]! & (1 << (row & 7))) === 0) launchesWithoutWork++;
  }
  return { launches, launchesWithoutWork };
}

interface RowIndex {
  set(id: number, row: number): void;
  /** −1 when unknown. */
  get(id: number): number;
}

/** Ids are nearly always dense: an array then, a map otherwise. */
function rowIndex(count: number, max: number): RowIndex {
  if (max < Math.max(count * 16, 1 << 16)) {
    const rows = new Int32Array(max + 1).fill(-1);
    return {
      set: (id, row) => {
        rows[id] = row;
      },
      get: (id) => rows[id] ?? -1,
    };
  }
  const rows = new Map<number, number>();
  return { set: (id, row) => void rows.set(id, row), get: (id) => rows.get(id) ?? -1 };
}
