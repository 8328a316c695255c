import type { ProblemLog } from '../base/problem.js';
import type { Cursor } from './cursor.js';
import type { Extent } from './extent.js';
import { looksLikeTar } from './tar-header.js';

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

export type Encoding = 'gzip' | 'zstd' | 'zip' | 'tar';

/** One tar header: enough to recognize any of them. */
export const HEAD_BYTES = 512;

/** Encoding by content, because names mislead: a `.json` may be gzip, a `.gz` may have been unpacked on the way. */
export function encodingOf(head: Uint8Array): Encoding | null {
  if (isGzip(head)) return 'gzip';
  if (isZstd(head)) return 'zstd';
  if (isZip(head)) return 'zip';
  return looksLikeTar(head) ? 'tar' : null;
}

/** A single byte 1f counts: no text starts with it, and a gzip may be cut after one byte. */
export function isGzip(head: Uint8Array): boolean {
  return startsWith(head, [0x1f, 0x8b, 0x08], 1);
}

function isZstd(head: Uint8Array): boolean {
  const isSkippable =
    head.length >= 4 && (head[0]! & 0xf0) === 0x50 && startsWith(head.subarray(1), [0x2a, 0x4d, 0x18], 3);
  return isSkippable || startsWith(head, [0x28, 0xb5, 0x2f, 0xfd], 2);
}

/** A first member, or the end record of an archive without members. */
function isZip(head: Uint8Array): boolean {
  return startsWith(head, [0x50, 0x4b, 0x03, 0x04], 4) || startsWith(head, [0x50, 0x4b, 0x05, 0x06], 4);
}

/** Whether `head` starts with `magic`, or with at least `least` bytes of it where the file ends there. */
function startsWith(head: Uint8Array, magic: readonly number[], least: number): boolean {
  if (head.length < least) return false;
  return magic.every((byte, i) => i >= head.length || head[i] === byte);
}
