/**
 * What the reader keeps of an event: which keys go into which column. Both scanners work from this table, so a new
 * column is one line here and one in the model.
 */

export const COLUMN_TYPES = { u32: 0, i32: 1, token: 2, f64: 3 } as const;
export type ColumnType = keyof typeof COLUMN_TYPES;

export interface SideTableSchema {
  readonly name: string;
  /** Entries in one batch; a batch ends when a table is nearly full. */
  readonly capacity: number;
  /** Column → type. Order matters: scanners address columns by number. */
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** Argument name in the trace → column. */
  readonly args: Readonly<Record<string, string>>;
}

const table = <N extends string, C extends Readonly<Record<string, ColumnType>>>(
  name: N,
  capacity: number,
  columns: C,
  args: Readonly<Record<string, keyof C & string>> = {},
) => ({ name, capacity, columns, args });

/** The first three are filled by the scanner itself and have fixed places. */
export const SIDE_TABLES = [
  table('wideIds', 1024, {
    ...{ field0: 'u32', token0: 'token', field1: 'u32', token1: 'token' },
    ...{ field2: 'u32', token2: 'token', field3: 'u32', token3: 'token' },
  } as const),
  table('wideDurations', 1024, { ns: 'f64' } as const),
  table('flows', 16384, { id: 'u32', kind: 'u32' } as const),
  table(
    'gpu',
    16384,
    {
      ...{ stream: 'i32', device: 'i32', grid: 'token', block: 'token' },
      ...{ registers: 'u32', sharedMemory: 'u32', occupancy: 'f64' },
    } as const,
    {
      ...{ stream: 'stream', device: 'device', grid: 'grid', block: 'block' },
      ...{ 'registers per thread': 'registers', 'shared memory': 'sharedMemory' },
      ...{ 'est. achieved occupancy %': 'occupancy' },
    },
  ),
  table('graphs', 8192, { graph: 'u32', node: 'u32' } as const, {
    'graph id': 'graph',
    'graph node id': 'node',
  }),
  table('copies', 8192, { bytes: 'f64', bandwidth: 'f64' } as const, {
    bytes: 'bytes',
    'memory bandwidth (GB/s)': 'bandwidth',
  }),
  table('ops', 32768, { sequence: 'u32', forwardThread: 'u32' } as const, {
    'Sequence number': 'sequence',
    'Fwd thread id': 'forwardThread',
  }),
  table('shapes', 16384, { dims: 'token', types: 'token' } as const, {
    'Input Dims': 'dims',
    'Input dims': 'dims',
    'Input type': 'types',
  }),
  table('python', 16384, { id: 'u32', parent: 'u32', module: 'u32' } as const, {
    'Python id': 'id',
    'Python parent id': 'parent',
    'Python module id': 'module',
  }),
  table(
    'collectives',
    2048,
    {
      ...{ collective: 'token', dtype: 'token', groupName: 'token', groupDescription: 'token' },
      ...{ groupRanks: 'token', commsId: 'token', isAsync: 'token', inSplit: 'token', outSplit: 'token' },
      ...{ inElements: 'f64', outElements: 'f64', groupSize: 'f64', rank: 'f64', sourceRank: 'f64' },
      ...{ destinationRank: 'f64', sequence: 'f64', rankStart: 'f64', rankStride: 'f64' },
    } as const,
    {
      ...{ 'Collective name': 'collective', dtype: 'dtype', 'Process Group Name': 'groupName' },
      ...{ 'Process Group Description': 'groupDescription', 'Process Group Ranks': 'groupRanks' },
      ...{ 'Comms Id': 'commsId', 'Is asynchronized op': 'isAsync', 'In split size': 'inSplit' },
      ...{ 'Out split size': 'outSplit', 'In msg nelems': 'inElements', 'Out msg nelems': 'outElements' },
      ...{ 'Group size': 'groupSize', Rank: 'rank', 'Src Rank': 'sourceRank', 'Dst Rank': 'destinationRank' },
      ...{ Seq: 'sequence', 'Global rank start': 'rankStart', 'Global rank stride': 'rankStride' },
    },
  ),
  table('syncs', 4096, { kind: 'token', stream: 'i32', event: 'i32', recordCorrelation: 'i32' } as const, {
    ...{ cuda_sync_kind: 'kind', wait_on_stream: 'stream', wait_on_cuda_event_id: 'event' },
    ...{ wait_on_cuda_event_record_corr_id: 'recordCorrelation' },
  }),
  table(
    'memory',
    16384,
    {
      ...{ bytes: 'f64', address: 'f64', allocated: 'f64', reserved: 'f64' },
      ...{ deviceType: 'i32', deviceId: 'i32' },
    } as const,
    {
      ...{ Bytes: 'bytes', Addr: 'address', 'Total Allocated': 'allocated', 'Total Reserved': 'reserved' },
      ...{ 'Device Type': 'deviceType', 'Device Id': 'deviceId' },
    },
  ),
  table('metadata', 1024, { name: 'token', labels: 'token', sortIndex: 'f64' } as const, {
    name: 'name',
    labels: 'labels',
    sort_index: 'sortIndex',
  }),
] as const satisfies readonly SideTableSchema[];

export type SideTableName = (typeof SIDE_TABLES)[number]['name'];

/** What to do with the value of a key; the numbers are shared with wasm/assembly/shapes.ts and walk.ts. */
export const OPS = {
  ...{ skip: 0, name: 3, pid: 4, tid: 5, ts: 6, dur: 7, id: 8, external: 9, correlation: 10, side: 11 },
  ...{ phase: 100, category: 101, args: 102 },
} as const;

export const EVENT_KEYS: Readonly<Record<string, number>> = {
  ...{ ph: OPS.phase, cat: OPS.category, name: OPS.name, pid: OPS.pid, tid: OPS.tid, ts: OPS.ts },
  ...{ dur: OPS.dur, id: OPS.id, args: OPS.args },
};

/** Kineto wrote `external id` until 2021. */
export const ARG_KEYS: Readonly<Record<string, number>> = {
  ...{ 'External id': OPS.external, 'external id': OPS.external, correlation: OPS.correlation },
};

/** Tracks with a number of their own, as in wasm/assembly/kinds.ts; all beyond share the next one. */
export const MAX_TRACKS = 0xfffe;

/** `field` in the table of wide ids: one of these, or `side` + (table << 8 | column). */
export const WIDE_FIELDS = { external: 0, correlation: 1, id: 2, side: 256 } as const;

export { NO_I32, NO_ID } from '../../model/trace-data.js';
