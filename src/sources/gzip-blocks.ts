import { readSync } from 'node:fs';
import { groupedMembers } from './bgzip.js';
import { crcOfParts } from './crc-parts.js';
import { EXTRA_ONLY, extraField, HEADER, MAX_EXTRA, subfield } from './gzip-header.js';

/** A gzip file in blocks that can be inflated one without the other. They cover all of it. */
export interface GzipBlocks {
  /** Where each block starts in the file, and where the last one ends. */
  readonly starts: Float64Array;
  /** Null: each block is one or more whole members. */
  readonly parts: GzipParts | null;
}

/** Blocks that are parts of one member: what to expect of the content of each. */
export interface GzipParts {
  readonly crcs: Uint32Array;
  readonly lengths: Uint32Array;
}

const TRAILER = 8;
/** Of the index: version, three zeros, bytes in a block, bytes of all. As in `whyslow_capture/trace/block_gzip.py`. */
const INDEX_HEAD = 16;
const INDEX_ENTRY = 8;
const INDEX_VERSION = 1;
/** Of a block's content. Blocks are read whole, and the index is not to be trusted. Ours have 4 MB, above 34 GB of JSON more. */
const MAX_BLOCK = 16 << 20;
/** What does not compress gets a little longer. */
const MAX_STORED = 1.01 * MAX_BLOCK;

/**
 * The blocks of a gzip file: by the index that our capture writes into the header, or by the sizes that bgzip writes before each
 * member. Null: neither, or they do not cover the file exactly. Nothing here is proof: a block is good once it has been
 * inflated and its checksum is right.
 */
export function findBlocks(fd: number, size: number): GzipBlocks | null {
  const head = new Uint8Array(HEADER + MAX_EXTRA);
  const { extra, flags } = extraField(head.subarray(0, readSync(fd, head, 0, head.length, 0)));
  if (extra === null) return null;
  const index = subfield(extra, 'WS');
  if (index && flags === EXTRA_ONLY) {
    const trailer = new Uint8Array(TRAILER);
    readSync(fd, trailer, 0, TRAILER, Math.max(0, size - TRAILER));
    return indexedBlocks(index, HEADER + extra.length, viewOf(trailer), size);
  }
  const starts = subfield(extra, 'BC') ? groupedMembers(fd, size) : null;
  return starts && { starts, parts: null };
}

function indexedBlocks(index: Uint8Array, start: number, trailer: DataView, size: number): GzipBlocks | null {
  const view = viewOf(index);
  if (index.length < INDEX_HEAD || view.getUint32(0, true) !== INDEX_VERSION) return null;
  const blockBytes = view.getUint32(4, true);
  const rawBytes = Number(view.getBigUint64(8, true));
  const count = (index.length - INDEX_HEAD) / INDEX_ENTRY;
  if (blockBytes === 0 || blockBytes > MAX_BLOCK || count !== Math.ceil(rawBytes / blockBytes)) return null;
  const starts = new Float64Array(count + 1);
  const running = new Uint32Array(count);
  starts[0] = start;
  for (let i = 0; i < count; i++) {
    const at = INDEX_HEAD + i * INDEX_ENTRY;
    const stored = view.getUint32(at, true);
    if (stored === 0 || stored > MAX_STORED) return null;
    starts[i + 1] = starts[i]! + stored;
    running[i] = view.getUint32(at + 4, true);
  }
  const isAll =
    starts[count] === size - TRAILER &&
    running[count - 1] === trailer.getUint32(0, true) &&
    rawBytes % 2 ** 32 === trailer.getUint32(4, true);
  if (!isAll) return null;
  const lastBytes = rawBytes - (count - 1) * blockBytes;
  const lengths = new Uint32Array(count).fill(blockBytes);
  lengths[count - 1] = lastBytes;
  return { starts, parts: { crcs: crcOfParts(running, blockBytes, lastBytes), lengths } };
}

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
