import type { Cursor } from './cursor.js';
import type { Extent } from './extent.js';
import type { Lending } from './stream.js';

/** Bytes at one depth: a file as stored, the content of a gzip, one member of a tar. */
export interface Layer {
  readonly cursor: Cursor;
  /** The same bytes with random access; null for what can only be streamed. */
  readonly extent: Extent | null;
  /** Stored size in bytes; null when unknown. */
  readonly size: number | null;
  /** Of its chunks, if nothing stands between them and the reader. */
  readonly lending?: Lending | undefined;
  /** How many bytes of the file on disk have been consumed. */
  stored(): number;
}
