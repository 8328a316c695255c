import { crc32, createInflateRaw } from 'node:zlib';
import type { Entry } from 'yauzl';
import { decode, isTruncation, type Progress, salvage, ZLIB_OPTIONS } from './careful-decode.js';
import { Cursor } from './cursor.js';
import { type Extent, readPieces } from './extent.js';
import type { Faults } from './faults.js';
import type { Layer } from './layer.js';

const STORED = 0;
const DEFLATED = 8;
/** Passed on as stored: the walk recognizes zstd by its content. */
const ZSTD = 93;

/** Whether the member can be decoded; a problem where it cannot. */
export function isSupported(entry: Entry, name: string, faults: Faults): boolean {
  const method = entry.compressionMethod;
  const consequence = 'They were not read: unpack the archive first.';
  if (entry.isEncrypted()) {
    const message = `Members of the zip are encrypted, such as ${name}.`;
    faults.add('encrypted-member', { message, consequence });
    return false;
  }
  if (method === STORED || method === DEFLATED || method === ZSTD) return true;
  const message = `Members of the zip use compression method ${method}, which is not supported, such as ${name}.`;
  faults.add('unsupported-compression', { message, consequence });
  return false;
}

/** `stored` converts consumed bytes of this member to a position in the file. */
export function zipMemberLayer(
  entry: Entry,
  data: Extent,
  faults: Faults,
  stored: (consumed: number) => number,
): Layer {
  const progress: Progress = { consumed: 0 };
  const isDeflated = entry.compressionMethod === DEFLATED;
  const content = isDeflated ? inflateRaw(data, progress) : counted(readPieces(data), progress);
  const isPlain = entry.compressionMethod !== ZSTD;
  return {
    cursor: new Cursor(isPlain ? checked(content, entry, faults) : content),
    extent: isDeflated ? null : data,
    size: entry.compressedSize,
    stored: () => stored(progress.consumed),
  };
}

const makeInflate = () => createInflateRaw(ZLIB_OPTIONS);

/** A zip keeps checksums in its headers, so inflate has none to check: damage shows in the checksum of the output. */
async function* inflateRaw(data: Extent, progress: Progress): AsyncGenerator<Uint8Array> {
  const outcome = yield* decode(makeInflate(), new Cursor(readPieces(data)), 0, progress);
  if (outcome.error !== null && !isTruncation(outcome.error)) yield* salvage(makeInflate, data, 0, outcome);
}

async function* counted(pieces: AsyncIterable<Uint8Array>, progress: Progress): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    progress.consumed += piece.length;
    yield piece;
  }
}

async function* checked(
  content: AsyncIterable<Uint8Array>,
  entry: Entry,
  faults: Faults,
): AsyncGenerator<Uint8Array> {
  let sum = 0;
  let size = 0;
  for await (const chunk of content) {
    sum = crc32(chunk, sum);
    size += chunk.length;
    yield chunk;
  }
  if (sum === entry.crc32 && size === entry.uncompressedSize) return;
  const message =
    size < entry.uncompressedSize
      ? `A zip member is damaged: ${size} of its ${entry.uncompressedSize} bytes could be read.`
      : 'A zip member is damaged: its checksum does not match.';
  const consequence = 'What could be decoded was read; some of it may be wrong.';
  faults.add('corrupt-zip-member', { message, consequence });
}
