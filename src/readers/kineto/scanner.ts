import type { SideTableName } from './schema.js';

/** Why `scan` stopped. */
export const SCAN = { needMore: 0, batchFull: 1, arrayEnd: 2, malformed: 3 } as const;

/**
 * Reads the elements of a `traceEvents` array into batches of columns. There are two: WebAssembly with SIMD, and TypeScript
 * as a fallback and a second opinion in tests. Both give the same batches for the same bytes, however they are cut.
 */
export interface EventScanner {
  /** Makes room for `bytes` in total and keeps the first `keep` bytes. Invalidates `buffer`. */
  reserve(bytes: number, keep: number): void;
  /** The input buffer. Ask again after `reserve` and `scan`: memory may have moved. */
  readonly buffer: Uint8Array;
  /** Scans buffer[from, to), whose first byte is at `fileOffset`. Returns one of SCAN and sets `position`. */
  scan(from: number, to: number, fileOffset: number): number;
  /** Where to go on, as an index into `buffer`. */
  readonly position: number;
  /** Scans the repaired text of the event at `fileOffset`; true when it is exactly one complete event. */
  scanRepaired(text: Uint8Array, fileOffset: number): boolean;
  /** The rows read since the last `startBatch`, as views that are valid until the next call. */
  finishBatch(): Batch;
  startBatch(): void;
  /** Tables that outlive batches. */
  finish(): ScannerTables;
}

export interface Batch {
  readonly rows: number;
  /** Nanoseconds from the base; NaN where missing. */
  readonly ts: Float64Array;
  /** Nanoseconds; 0 where missing; 0xffffffff where the table `wideDurations` has the value. */
  readonly dur: Uint32Array;
  readonly name: Uint32Array;
  readonly external: Uint32Array;
  readonly correlation: Uint32Array;
  readonly track: Uint16Array;
  readonly kind: Uint8Array;
  /** File offset of each row whose number in the file is a multiple of OFFSET_EVERY. */
  readonly offsets: Float64Array;
  /** Strings and tracks known so far: all ids in this batch are below these. */
  readonly strings: number;
  readonly tracks: number;
  readonly side: Readonly<Record<SideTableName, BatchTable>>;
}

export interface BatchTable {
  readonly rows: number;
  /** Row of the file, not of the batch. */
  readonly row: Uint32Array;
  /** None where there are no rows. */
  readonly columns: readonly (Uint32Array | Int32Array | Float64Array)[];
}

export interface ScannerTables {
  /** Raw JSON tokens end to end; token i is bytes[starts[i], starts[i + 1]). Token 0 is "none". */
  readonly stringBytes: Uint8Array;
  readonly stringStarts: Uint32Array;
  /** Tokens with control characters or bytes above 0x7e, and the offset of the event they came from. */
  readonly oddStrings: readonly { readonly id: number; readonly offset: number }[];
  readonly kinds: readonly RawKind[];
  /** Token ids of pid and tid. */
  readonly tracks: readonly { readonly pid: number; readonly tid: number }[];
  readonly baseNs: bigint;
  readonly counters: readonly { readonly count: number; readonly first: number }[];
}

export interface RawKind {
  /** The `ph` letter. */
  readonly phase: string;
  /** Token id of `cat`, 0 when there is none. */
  readonly category: number;
  /** Events of this kind in the file. */
  readonly events: number;
  /** Of those, flow events that belong to the row before them and are not rows. */
  readonly folded: number;
}

export { OFFSET_EVERY } from '../../model/trace-data.js';
/** Rows in a batch; as in wasm/assembly/batch.ts. */
export const BATCH_ROWS = 32768;
