import type { Category } from './category.js';
import type { StringData } from './string-table.js';

/**
 * One trace file as columns. Plain data without methods: it moves between threads without copying. Immutable once built.
 *
 * Rows are in file order. A flow event right after the event it belongs to is not a row: see `flows`. Times are integer
 * nanoseconds from `baseNs`, exact in a double. Every sentinel value is named here.
 */
export interface TraceData {
  readonly rows: number;
  /** Start, ns from `baseNs`. NaN: none given (metadata events never have one). Not sorted. */
  readonly ts: Float64Array;
  /** Duration, ns. 0 for events without. Float64 only when some value is negative or above 4.29 s. */
  readonly dur: Uint32Array | Float64Array;
  /** String id. 0: none. */
  readonly name: StringIds;
  /** `External id`: joins GPU work and runtime calls to the operator. NO_ID: none, or in `wideIds`. */
  readonly external: Uint32Array;
  /** `correlation`: joins a launch to its GPU work (`id` for flow and async events). NO_ID: none, or in `wideIds`. */
  readonly correlation: Uint32Array;
  /** Index into `tracks`. */
  readonly track: Uint8Array | Uint16Array;
  /** Index into `kinds`. */
  readonly kind: Uint8Array;
  /** Offset in the decoded file of rows 0, 256, 512, ...: the way back to arguments that are not columns. */
  readonly offsets: Float64Array;

  readonly kinds: readonly KindInfo[];
  readonly tracks: readonly TrackInfo[];
  readonly strings: StringData;
  /** `ts` counts from this time, ns. */
  readonly baseNs: bigint;
  readonly header: TraceHeader;
  /** The file ends before its events do. */
  readonly isCut: boolean;

  readonly gpu: GpuTable;
  readonly graphs: GraphTable;
  readonly copies: CopyTable;
  readonly ops: OpTable;
  readonly shapes: ShapeTable;
  readonly python: PythonTable;
  readonly collectives: CollectiveTable;
  readonly syncs: SyncTable;
  readonly memory: MemoryTable;
  readonly metadata: MetadataTable;
  readonly samples: SampleTable;
  readonly flows: FlowTable;
  readonly wideIds: readonly WideId[];
}

/** Ids of strings; 0 means none. Uint32 only when there are more than 65,535. */
export type StringIds = Uint16Array | Uint32Array;

/** Sentinel of unsigned id columns. */
export const NO_ID = 0xffffffff;
/** Sentinel of signed columns. */
export const NO_I32 = -2147483648;
export const OFFSET_EVERY = 256;

export interface KindInfo {
  /** The `ph` letter: X, B, E, i, M, C, s, f, ... Empty: events that no analysis uses, for their times are impossible. */
  readonly phase: string;
  /** `cat` as in the file, '' when there is none. */
  readonly categoryName: string;
  readonly category: Category;
  /** Events in the file, including folded flows. */
  readonly events: number;
  /** Of those, flows that are not rows. */
  readonly folded: number;
}

export interface TrackInfo {
  readonly pid: string;
  readonly tid: string;
}

/** Only rows that have one of the arguments have an entry. `row` ascends. */
export interface SideTable {
  readonly row: Uint32Array;
}
/** Arguments of device work. */
export interface GpuTable extends SideTable {
  /** NO_I32: none. */
  readonly stream: Int32Array;
  /** 255: none. */
  readonly device: Uint8Array;
  /** String ids of `[x, y, z]`. 0: none. */
  readonly grid: StringIds;
  readonly block: StringIds;
  /** Per thread. 65535: none. */
  readonly registers: Uint16Array;
  /** Bytes. NO_ID: none. */
  readonly sharedMemory: Uint32Array;
  /** Estimated, percent. NaN: none. */
  readonly occupancy: Float32Array;
}
/** Kernels launched by a CUDA graph. NO_ID: none. */
export interface GraphTable extends SideTable {
  readonly graph: Uint32Array;
  readonly node: Uint32Array;
}
/** Copies and fills. */
export interface CopyTable extends SideTable {
  readonly bytes: Float64Array;
  /** GB/s. */
  readonly bandwidth: Float64Array;
}
/** Autograd's numbering: the same sequence in forward and backward. */
export interface OpTable extends SideTable {
  readonly sequence: Uint32Array;
  /** 65535: none. */
  readonly forwardThread: Uint16Array;
}
/** String ids of the JSON as written, e.g. `[[8, 512], []]`. */
export interface ShapeTable extends SideTable {
  readonly dims: StringIds;
  readonly types: StringIds;
  /** Of arguments that are no tensors, e.g. `["", "[2, 2]", "False"]`. */
  readonly values: StringIds;
}
export interface PythonTable extends SideTable {
  readonly id: Uint32Array;
  readonly parent: Uint32Array;
  readonly module: Uint32Array;
}
/** The first nine are string ids; numbers are NaN where absent. */
export interface CollectiveTable extends SideTable {
  readonly collective: StringIds;
  readonly dtype: StringIds;
  readonly groupName: StringIds;
  readonly groupDescription: StringIds;
  readonly groupRanks: StringIds;
  /** Kept as text: it exceeds 2^53. */
  readonly commsId: StringIds;
  readonly isAsync: StringIds;
  readonly inSplit: StringIds;
  readonly outSplit: StringIds;
  readonly inElements: Float64Array;
  readonly outElements: Float64Array;
  readonly groupSize: Float64Array;
  readonly rank: Float64Array;
  readonly sourceRank: Float64Array;
  readonly destinationRank: Float64Array;
  readonly sequence: Float64Array;
  readonly rankStart: Float64Array;
  readonly rankStride: Float64Array;
}
export interface SyncTable extends SideTable {
  /** String id of `Stream Sync`, `Event Sync`, ... */
  readonly kind: StringIds;
  readonly stream: Int32Array;
  readonly event: Int32Array;
  readonly recordCorrelation: Int32Array;
}
/** Allocator events, bytes. */
export interface MemoryTable extends SideTable {
  readonly bytes: Float64Array;
  readonly address: Float64Array;
  readonly allocated: Float64Array;
  readonly reserved: Float64Array;
  readonly deviceType: Int32Array;
  readonly deviceId: Int32Array;
}
/** Values of counters, rows with phase C: the name of the row is the counter's. torch 2.15 samples a GPU's counters. */
export interface SampleTable extends SideTable {
  readonly value: Float64Array;
}
/** Names of processes and threads: rows with phase M. */
export interface MetadataTable extends SideTable {
  readonly name: StringIds;
  readonly labels: StringIds;
  readonly sortIndex: Float64Array;
}
/**
 * Flow events bound to `row` (same time and track, right after it in the file) whose id is not the row's correlation:
 * forward → backward links. Flows whose id *is* the correlation say nothing new and are only counted, in `kinds[].folded`.
 */
export interface FlowTable extends SideTable {
  readonly id: Uint32Array;
  /** Index into `kinds`. */
  readonly kind: Uint8Array;
}
/** A number its column cannot hold: negative, fractional, above 32 bits, or text. */
export interface WideId {
  readonly row: number;
  /** `external`, `correlation`, `id`, or `<table>.<column>`. */
  readonly field: string;
  /** As written in the file. */
  readonly text: string;
}

/** The field of `rest` that names who recorded, as JSON text. Traces of torch.profiler do not have it. */
export const RECORDER_FIELD = 'recorder';
export const BY_NSYS = '"nsys"';

export interface TraceHeader {
  readonly schemaVersion: number | null;
  readonly devices: readonly DeviceInfo[];
  readonly distributed: DistributedInfo | null;
  /** The file's timestamps count from this time: ns since 1970, as text. Null in traces that count from 1970. */
  readonly baseTimeNanoseconds: string | null;
  readonly displayTimeUnit: string | null;
  readonly traceName: string | null;
  /** Name of the run, from whyslow's own capture. */
  readonly run: string | null;
  readonly hostName: string | null;
  /** Profiler switches that were on: with_stack, record_shapes, profile_memory, with_flops, with_modules. */
  readonly switches: readonly string[];
  /** Set if `whyslow slim` wrote it and left out events. */
  readonly slimmed?: Slimmed | null;
  /** cuda_driver_version and the like, as written. */
  readonly versions: Readonly<Record<string, string>>;
  /** The fields outside the events as JSON text, cut at 64 KiB each; of unusually many, the first. */
  readonly rest: Readonly<Record<string, string>>;
}

/** What a slimmed trace does not show any more. */
export interface Slimmed {
  readonly dropped: readonly string[];
  /** The step without the profiler, as a share of the recorded one: the estimate from the whole trace. Null: not known. */
  readonly unprofiled: number | null;
}

export interface DeviceInfo {
  readonly id: number;
  readonly name: string;
  readonly totalMemory: number | null;
  readonly computeMajor: number | null;
  readonly computeMinor: number | null;
  readonly multiprocessors: number | null;
  readonly warpSize: number | null;
}

export interface DistributedInfo {
  readonly backend: string | null;
  readonly rank: number | null;
  readonly worldSize: number | null;
  readonly ncclVersion: string | null;
  readonly groups: readonly ProcessGroup[];
}

export interface ProcessGroup {
  readonly name: string;
  readonly description: string | null;
  readonly backend: string | null;
  readonly size: number | null;
  readonly ranks: readonly number[];
}
