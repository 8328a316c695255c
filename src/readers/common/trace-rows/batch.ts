import type { SideTableName } from './schema.js';

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
  /** None if there are no rows. */
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

export { OFFSET_EVERY } from '../../../model/trace-data.js';
/** Rows in a batch; as in wasm/assembly/batch.ts. */
export const BATCH_ROWS = 32768;
