import type { ProblemLog } from '../base/problem.js';
import type { Cursor } from './cursor.js';
import type { Extent } from './extent.js';

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

/**
 * Decoded bytes of one member (a plain file, or one file inside an archive).
 *
 * `chunks` may be iterated once. A fault in the data (a truncated gzip, a wrong checksum) ends it and is in
 * `stats.problems`. It throws `InputError` only when the file cannot be read at all.
 */
export interface ByteStream {
  readonly chunks: AsyncIterable<Uint8Array>;
  readonly stats: StreamStats;
  /** Where there is a gain in it. */
  readonly lending?: Lending | undefined;
}

/** Set by a reader that is done with a chunk when it asks for the next: its memory may then be used again. */
export interface Lending {
  isOn: boolean;
}

/** Grows while the chunks are read; final once they have ended. */
export interface StreamStats {
  /** Bytes taken from disk so far (compressed where the file is). */
  storedBytes: number;
  /** Bytes delivered so far. */
  decodedBytes: number;
  /** The encodings that were decoded, outermost first: `gzip`, `zstd`, `tar`, `zip`. */
  readonly encodings: string[];
  readonly problems: ProblemLog;
}
