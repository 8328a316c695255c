import { crc32, createInflateRaw } from 'node:zlib';
import type { Entry } from 'yauzl';
import { Cursor } from './cursor.js';
import { decode, isTruncation, type Progress, salvage, zlibOptions } from './decode.js';
import { type Extent, readPieces } from './extent.js';
import type { Faults } from './faults.js';
import type { Decoding, Layer } from './layer.js';

const STORED = 0;
const DEFLATED = 8;
/** Handed on as it is stored: the layer above knows zstd by its content. */
const ZSTD = 93;

/** Whether the member can be decoded; a problem where it cannot. */
export function isSupported(entry: Entry, name: string, faults: Faults): boolean {
  if (entry.isEncrypted()) {
    const message = `Members of the zip are encrypted, such as ${name}.`;
    faults.add('encrypted-member', { message, consequence: 'They were not read: unpack the archive first.' });
    return false;
  }
  const method = entry.compressionMethod;
  if (method === STORED || method === DEFLATED || method === ZSTD) return true;
  const message = `Members of the zip use compression method ${method}, which is not supported, such as ${name}.`;
  faults.add('unsupported-compression', {
    message,
    consequence: 'They were not read: unpack the archive first.',
  });
  return false;
}

/** `stored` says how far in the file we are when so many bytes of this member are used up. */
export function zipMemberLayer(
  entry: Entry,
  data: Extent,
  decoding: Decoding,
  stored: (consumed: number) => number,
): Layer {
  const progress: Progress = { consumed: 0 };
  const isDeflated = entry.compressionMethod === DEFLATED;
  const inside = isDeflated
    ? inflateRaw(data, decoding, progress)
    : counted(readPieces(data, decoding.sizes.read), progress);
  const isPlain = entry.compressionMethod !== ZSTD;
  return {
    cursor: new Cursor(isPlain ? checked(inside, entry, decoding.faults) : inside),
    extent: isDeflated ? null : data,
    size: entry.compressedSize,
    stored: () => stored(progress.consumed),
  };
}

/** A zip keeps its checksum apart, so inflate has none to check; what is wrong shows in the sum over the output. */
async function* inflateRaw(
  data: Extent,
  { sizes }: Decoding,
  progress: Progress,
): AsyncGenerator<Uint8Array> {
  const make = () => createInflateRaw(zlibOptions(sizes));
  const outcome = yield* decode(make(), new Cursor(readPieces(data, sizes.read)), 0, progress);
  if (outcome.error !== null && !isTruncation(outcome.error)) yield* salvage(make, data, 0, outcome, sizes);
}

async function* counted(pieces: AsyncIterable<Uint8Array>, progress: Progress): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    progress.consumed += piece.length;
    yield piece;
  }
}

async function* checked(
  inside: AsyncIterable<Uint8Array>,
  entry: Entry,
  faults: Faults,
): AsyncGenerator<Uint8Array> {
  let sum = 0;
  let size = 0;
  for await (const chunk of inside) {
    sum = crc32(chunk, sum);
    size += chunk.length;
    yield chunk;
  }
  if (sum === entry.crc32 && size === entry.uncompressedSize) return;
  const message =
    size < entry.uncompressedSize
      ? `A zip member is damaged: ${size} of its ${entry.uncompressedSize} bytes could be read.`
      : 'A zip member is damaged: its checksum does not fit.';
  faults.add('corrupt-zip-member', {
    message,
    consequence: 'What could be decoded was read; some of it may be wrong.',
  });
}
