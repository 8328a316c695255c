import { crc32, createInflateRaw } from 'node:zlib';
import { type Entry, fromRandomAccessReaderPromise, getFileNameLowLevel, RandomAccessReader } from 'yauzl';
import { InputError } from '../base/input-error.js';
import { partitionPoint } from '../base/search.js';
import { decode, isTruncation, type Progress, salvage, ZLIB_OPTIONS } from './careful-decode.js';
import { Cursor } from './cursor.js';
import { type Extent, memoryExtent, readPieces, sliceExtent } from './extent.js';
import type { Faults } from './faults.js';
import type { Layer } from './layer.js';

interface ZipMember {
  /** As written in the archive: a label, never a path to write to. */
  readonly name: string;
  readonly layer: Layer;
}

/** A zip has its directory at the end. Where we cannot seek, up to this much is held in memory. */
const MAX_SPOOL_BYTES = 256 << 20;

/** Every regular file of the archive, in the order of its directory. `path` is for messages. */
export async function* zipMembers(layer: Layer, faults: Faults, path: string): AsyncGenerator<ZipMember> {
  const extent = layer.extent ?? (await spool(layer.cursor, path));
  const zip = await expectFaults(faults, () => openZip(extent));
  if (zip === null) return;
  const entries = zip.eachEntry();
  const taken = new TakenRanges();
  for (let used = 0; ; ) {
    const entry = await expectFaults(faults, async () => (await entries.next()).value as Entry | undefined);
    if (!entry) return;
    const name = nameOf(entry);
    if (name.endsWith('/') || !isSupported(entry, name, faults)) continue;
    const header = await expectFaults(faults, () => zip.readLocalFileHeaderPromise(entry, { minimal: true }));
    if (header === null) continue;
    if (!taken.add(header.fileDataStart, entry.compressedSize)) {
      faults.add('overlapping-members', OVERLAP);
      continue;
    }
    const data = sliceExtent(extent, header.fileDataStart, entry.compressedSize);
    const before = used;
    const stored = layer.extent === null ? layer.stored : (here: number) => before + here;
    yield { name, layer: zipMemberLayer(entry, data, faults, stored) };
    used += entry.compressedSize;
  }
}

const OVERLAP = {
  message: 'Members of the zip share the same bytes, as in a zip bomb.',
  consequence: 'Only the first of them was read.',
};

/** The bytes of the archive that belong to members so far: no archiver gives a byte to two. */
class TakenRanges {
  /** Ascending, without overlap. */
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];

  /** False: part of the range is taken. */
  add(start: number, size: number): boolean {
    if (size === 0) return true;
    const end = start + size;
    const at = partitionPoint(this.#starts.length, (i) => this.#starts[i]! < end);
    if (at > 0 && this.#ends[at - 1]! > start) return false;
    // Nearly always at the end: directories list members in the order of the archive.
    this.#starts.splice(at, 0, start);
    this.#ends.splice(at, 0, end);
    return true;
  }
}

async function spool(cursor: Cursor, path: string): Promise<Extent> {
  const parts: Uint8Array[] = [];
  for (let part = await cursor.take(); part !== null; part = await cursor.take()) {
    parts.push(part);
    if (cursor.position <= MAX_SPOOL_BYTES) continue;
    throw new InputError(
      `${path} is a zip of more than ${MAX_SPOOL_BYTES >> 20} MiB in a stream. A zip has its directory at the end: ` +
        'save it as a file and pass that file.',
    );
  }
  return memoryExtent(Buffer.concat(parts));
}

function openZip(extent: Extent) {
  // We decode names ourselves: yauzl refuses a whole archive for one absolute name, and we write no files.
  const options = { autoClose: false, decodeStrings: false };
  return fromRandomAccessReaderPromise(new ExtentReader(extent), extent.size, options);
}

/** Lets yauzl read an extent. */
class ExtentReader extends RandomAccessReader {
  constructor(readonly extent: Extent) {
    super();
  }

  override read(
    target: Buffer,
    offset: number,
    length: number,
    position: number,
    done: (error: Error | null, count?: number) => void,
  ): void {
    this.extent.read(position, length).then(
      (bytes) => {
        target.set(bytes, offset);
        done(null, bytes.length);
      },
      (error: Error) => done(error),
    );
  }
}

function nameOf(entry: Entry): string {
  return getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, false);
}

/** yauzl throws on a damaged archive: the result is then null, with a problem. */
async function expectFaults<T>(faults: Faults, action: () => Promise<T>): Promise<T | null> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof InputError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    if (/strong encryption/.test(reason)) {
      const message = 'The zip archive is encrypted.';
      faults.add('encrypted-member', { message, consequence: 'Its members were not read: unpack it first.' });
    } else {
      const message = `The zip archive is damaged or cut short: ${reason.replace(/\.$/, '')}.`;
      const consequence = 'Members that could not be found in it were not read.';
      faults.add('corrupt-zip', { message, consequence });
    }
    return null;
  }
}

const STORED = 0;
const DEFLATED = 8;
/** Passed on as stored: the walk recognizes zstd by its content. */
const ZSTD = 93;

/** Whether the member can be decoded; a problem where it cannot. */
function isSupported(entry: Entry, name: string, faults: Faults): boolean {
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
function zipMemberLayer(
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
