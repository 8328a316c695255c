import type { Batch, ScannerTables } from '../common/trace-rows/batch.js';

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
