import { looksLikeTar } from './tar-header.js';

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
