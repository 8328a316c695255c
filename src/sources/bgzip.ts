import { readSync } from 'node:fs';
import { extraField, HEADER, subfield } from './gzip-header.js';

/** As bgzip writes it: one subfield of two bytes. */
const BGZIP_HEADER = HEADER + 6;
/** Stored bytes that are worth a task of their own: about 4 MB of JSON. A member of bgzip has at most 64 KB of it. */
const GROUP = 256 << 10;

/**
 * Where groups of members start in a file by bgzip, and where the last one ends. Each member says in its header how long it is.
 * Null: some part of the file is something else.
 */
export function groupedMembers(fd: number, size: number): Float64Array | null {
  const head = new Uint8Array(BGZIP_HEADER);
  const starts = [0];
  let at = 0;
  while (at < size) {
    const { extra } = extraField(head.subarray(0, readSync(fd, head, 0, head.length, at)));
    const length = extra && subfield(extra, 'BC');
    if (length?.length !== 2) return null;
    at += length[0]! + 256 * length[1]! + 1;
    if (at - starts.at(-1)! >= GROUP) starts.push(at);
  }
  if (at !== size) return null;
  if (starts.at(-1) !== size) starts.push(size);
  return Float64Array.from(starts);
}
