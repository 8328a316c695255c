/**
 * What the reader keeps of an event: which keys go into which column. Both scanners work from this table, so a new column is
 * one line here and one in the model.
 */

export const COLUMN_TYPES = { u32: 0, i32: 1, token: 2, f64: 3 } as const;
export type ColumnType = keyof typeof COLUMN_TYPES;

export interface SideTableSchema<Name extends string = string> {
  readonly name: Name;
  /** Entries in one batch. A batch ends when a table is nearly full. */
  readonly capacity: number;
  /** Column → type. The order matters: scanners address columns by number. */
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** Argument name in the trace → column. */
  readonly args: Readonly<Record<string, string>>;
}

/** `columns`: column → its type, then the names of its argument in traces. */
function table<Name extends string>(
  name: Name,
  capacity: number,
  columns: Readonly<Record<string, readonly [ColumnType, ...string[]]>>,
): SideTableSchema<Name> {
  const entries = Object.entries(columns);
  return {
    name,
    capacity,
    columns: Object.fromEntries(entries.map(([column, [type]]) => [column, type])),
    args: Object.fromEntries(entries.flatMap(([column, [, ...args]]) => args.map((arg) => [arg, column]))),
  };
}

/** The scanner itself fills the first three, so they come first. */
export const SIDE_TABLES = [
  table('wideIds', 1024, {
    field0: ['u32'],
    token0: ['token'],
    field1: ['u32'],
    token1: ['token'],
    field2: ['u32'],
    token2: ['token'],
    field3: ['u32'],
    token3: ['token'],
  }),
  table('wideDurations', 1024, { ns: ['f64'] }),
  table('flows', 16384, { id: ['u32'], kind: ['u32'] }),
  table('gpu', 16384, {
    stream: ['i32', 'stream'],
    device: ['i32', 'device'],
    grid: ['token', 'grid'],
    block: ['token', 'block'],
    registers: ['u32', 'registers per thread'],
    sharedMemory: ['u32', 'shared memory'],
    occupancy: ['f64', 'est. achieved occupancy %'],
  }),
  table('graphs', 8192, { graph: ['u32', 'graph id'], node: ['u32', 'graph node id'] }),
  table('copies', 8192, {
    bytes: ['f64', 'bytes'],
    bandwidth: ['f64', 'memory bandwidth (GB/s)'],
    // Where the name does not say it: see copy-names.ts.
    direction: ['token', 'copy kind'],
    source: ['token', 'src kind'],
    destination: ['token', 'dst kind'],
  }),
  table('ops', 32768, { sequence: ['u32', 'Sequence number'], forwardThread: ['u32', 'Fwd thread id'] }),
  table('shapes', 16384, {
    dims: ['token', 'Input Dims', 'Input dims'],
    types: ['token', 'Input type'],
    values: ['token', 'Concrete Inputs'],
  }),
  table('python', 16384, {
    id: ['u32', 'Python id'],
    parent: ['u32', 'Python parent id'],
    module: ['u32', 'Python module id'],
  }),
  table('collectives', 2048, {
    collective: ['token', 'Collective name'],
    dtype: ['token', 'dtype'],
    groupName: ['token', 'Process Group Name'],
    groupDescription: ['token', 'Process Group Description'],
    groupRanks: ['token', 'Process Group Ranks'],
    commsId: ['token', 'Comms Id'],
    isAsync: ['token', 'Is asynchronized op'],
    inSplit: ['token', 'In split size'],
    outSplit: ['token', 'Out split size'],
    inElements: ['f64', 'In msg nelems'],
    outElements: ['f64', 'Out msg nelems'],
    groupSize: ['f64', 'Group size'],
    rank: ['f64', 'Rank'],
    sourceRank: ['f64', 'Src Rank'],
    destinationRank: ['f64', 'Dst Rank'],
    sequence: ['f64', 'Seq'],
    rankStart: ['f64', 'Global rank start'],
    rankStride: ['f64', 'Global rank stride'],
  }),
  table('syncs', 4096, {
    kind: ['token', 'cuda_sync_kind'],
    stream: ['i32', 'wait_on_stream'],
    event: ['i32', 'wait_on_cuda_event_id'],
    recordCorrelation: ['i32', 'wait_on_cuda_event_record_corr_id'],
  }),
  table('memory', 16384, {
    bytes: ['f64', 'Bytes'],
    address: ['f64', 'Addr'],
    allocated: ['f64', 'Total Allocated'],
    reserved: ['f64', 'Total Reserved'],
    deviceType: ['i32', 'Device Type'],
    deviceId: ['i32', 'Device Id'],
  }),
  table('metadata', 1024, {
    name: ['token', 'name'],
    labels: ['token', 'labels'],
    sortIndex: ['f64', 'sort_index'],
  }),
  table('samples', 8192, { value: ['f64', ''] }),
] as const;

export type SideTableName = (typeof SIDE_TABLES)[number]['name'];

/** What to do with the value of a key. The numbers are shared with wasm/assembly/shapes.ts and walk.ts. */
export const OPS = {
  skip: 0,
  name: 3,
  pid: 4,
  tid: 5,
  ts: 6,
  dur: 7,
  id: 8,
  external: 9,
  correlation: 10,
  side: 11,
  phase: 100,
  category: 101,
  args: 102,
} as const;

export const EVENT_KEYS: Readonly<Record<string, number>> = {
  ph: OPS.phase,
  cat: OPS.category,
  name: OPS.name,
  pid: OPS.pid,
  tid: OPS.tid,
  ts: OPS.ts,
  dur: OPS.dur,
  id: OPS.id,
  args: OPS.args,
};

/** Kineto wrote `external id` until 2021. */
export const ARG_KEYS: Readonly<Record<string, number>> = {
  'External id': OPS.external,
  'external id': OPS.external,
  correlation: OPS.correlation,
};

/** What to do with an argument, by its name: an op, or OPS.side << 16 | table << 8 | column. */
export function argumentCodes(): Map<string, number> {
  const codes = new Map(Object.entries(ARG_KEYS));
  SIDE_TABLES.forEach((t, table) => {
    const names = Object.keys(t.columns);
    for (const [key, column] of Object.entries(t.args)) {
      codes.set(key, (OPS.side << 16) | (table << 8) | names.indexOf(column));
    }
  });
  return codes;
}

/** Tracks with a number of their own, as in wasm/assembly/kinds.ts. All further ones share the next number. */
export const MAX_TRACKS = 0xfffe;

/** `field` in the table of wide ids: one of these, or `side` + (table << 8 | column). */
export const WIDE_FIELDS = { external: 0, correlation: 1, id: 2, side: 256 } as const;

export { NO_I32, NO_ID } from '../../../model/trace-data.js';
