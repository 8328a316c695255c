import { Category, isGpuWork } from './category.js';
import type { StringTable } from './string-table.js';
import { type KindInfo, NO_ID, type TraceData } from './trace-data.js';

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
const STARTS_WORK =
  /^(?:cuda|cu|hip|musa|zeEnqueue|ur)\w*(?:Launch|MemcpyAsync|Memcpy[A-Z]\w*Async|MemsetAsync|MemsetD\d+Async)/i;
/** Of those, the ones that may do so elsewhere or not at all. */
const MAY_BE_EMPTY = /HostFunc|Cooperative.*MultiDevice|LaunchAttribute|GraphLaunch/i;

export function linkGpuWork(data: TraceData, strings: StringTable): GpuLinks {
  const { calls, work, least, most } = callsAndWork(data);
  const { correlation, name } = data;
  const callOf = rowIndex(calls, correlation, least, most);
  const used = new Uint8Array(calls.length);
  const launch = new Int32Array(work.length);
  let workWithoutLaunch = 0;
  for (let i = 0; i < work.length; i++) {
    const c = correlation[work[i]!]!;
    const call = c === NO_ID ? -1 : callOf(c);
    launch[i] = call < 0 ? -1 : calls[call]!;
    if (call < 0) workWithoutLaunch++;
    else used[call] = 1;
  }
  const startsWork = new Uint8Array(strings.size);
  for (const id of strings.idsWhere((t) => STARTS_WORK.test(t) && !MAY_BE_EMPTY.test(t))) startsWork[id] = 1;
  let launches = 0;
  let launchesWithoutWork = 0;
  for (let i = 0; i < calls.length; i++) {
    if (startsWork[name[calls[i]!]!] === 0) continue;
    launches++;
    launchesWithoutWork += 1 - used[i]!;
  }
  return { work, launch, workWithoutLaunch, launches, launchesWithoutWork };
}

/** Rows of calls and of GPU work, in one pass, and the range of the calls' correlation ids. */
function callsAndWork(data: TraceData) {
  const isCall = (k: KindInfo) => k.category === Category.runtime || k.category === Category.driver;
  const isWork = (k: KindInfo) => k.phase === 'X' && isGpuWork(k.category);
  const sort = Uint8Array.from(data.kinds, (k) => (isCall(k) ? 1 : isWork(k) ? 2 : 0));
  const count = (wanted: number) =>
    data.kinds.reduce((n, k, i) => n + (sort[i] === wanted ? k.events - k.folded : 0), 0);
  const calls = new Uint32Array(count(1));
  const work = new Uint32Array(count(2));
  const { kind, correlation, rows } = data;
  let least = NO_ID;
  let most = 0;
  for (let row = 0, c = 0, w = 0; row < rows; row++) {
    const s = sort[kind[row]!]!;
    if (s === 0) continue;
    if (s === 2) {
      if (w < work.length) work[w++] = row;
      continue;
    }
    if (c < calls.length) calls[c++] = row;
    const id = correlation[row]!;
    if (id === NO_ID) continue;
    if (id < least) least = id;
    if (id > most) most = id;
  }
  return { calls, work, least, most };
}

/** Rows of some kinds, in file order. The kinds know how many there are. */
export function rowsOfKinds(data: TraceData, test: (kind: KindInfo) => boolean): Uint32Array {
  const wanted = Uint8Array.from(data.kinds, (k) => Number(test(k)));
  const count = data.kinds.reduce((n, k, i) => n + (wanted[i] === 1 ? k.events - k.folded : 0), 0);
  const rows = new Uint32Array(count);
  const { kind } = data;
  let n = 0;
  for (let row = 0; n < count && row < data.rows; row++) if (wanted[kind[row]!] === 1) rows[n++] = row;
  return rows;
}

/** From a correlation id to the place in `calls` of the call that has it; −1 when none. The last one wins. */
function rowIndex(
  calls: Uint32Array,
  correlation: Uint32Array,
  min: number,
  max: number,
): (id: number) => number {
  if (max < min) return () => -1; // no call has an id
  // Ids are nearly always dense, if not from zero: an array then, a map otherwise.
  if (max - min < Math.max(calls.length * 16, 1 << 16)) {
    const index = new Int32Array(max - min + 1); // place + 1, so that a fresh array means "none"
    for (let i = 0; i < calls.length; i++) {
      const c = correlation[calls[i]!]!;
      if (c !== NO_ID) index[c - min] = i + 1;
    }
    return (id) => (id >= min && id <= max ? index[id - min]! - 1 : -1);
  }
  const index = new Map<number, number>();
  for (let i = 0; i < calls.length; i++) index.set(correlation[calls[i]!]!, i);
  return (id) => index.get(id) ?? -1;
}
