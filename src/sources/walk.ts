import { createGunzip } from 'node:zlib';
import {
  decode,
  isTruncation,
  type Outcome,
  type Progress,
  salvage,
  ZLIB_OPTIONS,
} from './careful-decode.js';
import { Cursor } from './cursor.js';
import { CHUNK_BYTES, readPieces, sliceExtent } from './extent.js';
import { fastGunzip } from './fast-gunzip.js';
import type { Faults } from './faults.js';
import { type Encoding, encodingOf, HEAD_BYTES, isGzip, type Layer, type Lending } from './layer.js';
import { deliver, type Origin, type Walk } from './member.js';
import { type TarMember, tarMembers } from './tar.js';

/** Nobody packs deeper on purpose, and a gzip quine would go on forever. */
const MAX_DEPTH = 4;

/** Finds every member in this layer and decodes what is encoded. */
export async function walkLayer(layer: Layer, origin: Origin, walk: Walk): Promise<void> {
  try {
    const encoding = encodingOf(await layer.cursor.peek(HEAD_BYTES));
    if (encoding === null) await deliver(layer, origin, walk);
    else if (origin.encodings.length >= MAX_DEPTH) reportDepth(origin, walk);
    else await openers[encoding](layer, { ...origin, encodings: [...origin.encodings, encoding] }, walk);
  } finally {
    await layer.cursor.close();
  }
}

type Opener = (layer: Layer, origin: Origin, walk: Walk) => Promise<void>;

const openers: Readonly<Record<Encoding, Opener>> = {
  gzip(layer, origin, walk) {
    const progress: Progress = { consumed: 0 };
    // Only an outermost decoder knows better than the file how much of it was consumed.
    const stored = origin.encodings.length === 1 ? () => progress.consumed : layer.stored;
    const lending = layer.extent?.startInflater && { isOn: false };
    const cursor = new Cursor(gunzip(layer, walk.faults, progress, lending));
    return walkLayer({ cursor, extent: null, size: layer.size, stored, lending }, origin, walk);
  },

  // zstd and zip need a library that takes longer to load than most files to read, so it is loaded only when needed.
  async zstd(layer, origin, walk) {
    const { unzstd } = await import('./zstd.js');
    const cursor = new Cursor(unzstd(layer, walk.faults));
    return walkLayer({ cursor, extent: null, size: layer.size, stored: layer.stored }, origin, walk);
  },

  tar(layer, origin, walk) {
    return walkMembers(tarMembers(layer, walk.faults), (member) => tarLayer(layer, member), origin, walk);
  },

  async zip(layer, origin, walk) {
    const { zipMembers } = await import('./zip.js');
    const members = zipMembers(layer, walk.faults, origin.path);
    return walkMembers(members, (member) => member.layer, origin, walk);
  },
};

async function walkMembers<M extends { readonly name: string }>(
  members: AsyncIterable<M>,
  layerOf: (member: M) => Layer,
  archive: Origin,
  walk: Walk,
): Promise<void> {
  let isFirst = true;
  for await (const member of members) {
    walk.faults.assignToFile();
    const layer = layerOf(member);
    const label = shortened(member.name, walk);
    const path = `${archive.path}!${label}`;
    const name = label.slice(label.lastIndexOf('/') + 1);
    // Decoders work ahead, so what they have consumed by now already includes the first member.
    const start = isFirst ? archive.start : layer.stored();
    isFirst = false;
    await walkLayer(layer, { path, name, encodings: archive.encodings, start }, walk);
  }
}

/** The longest path of Linux. Every name is kept until the end, and packed names may be a thousand times as long. */
const MAX_NAME = 4096;

function shortened(name: string, walk: Walk): string {
  if (name.length <= MAX_NAME) return name;
  const message = `The archive has a file name of more than ${MAX_NAME} characters.`;
  walk.faults.add('long-name', { message, consequence: 'Its name is cut; its content was read.' });
  // Through bytes, because a slice would keep the whole name alive.
  return Buffer.from(name.slice(0, MAX_NAME)).toString();
}

function tarLayer(archive: Layer, { chunks, start, size }: TarMember): Layer {
  const extent = archive.extent && sliceExtent(archive.extent, start, size);
  return { cursor: new Cursor(chunks), extent, size, stored: archive.stored };
}

function reportDepth(origin: Origin, walk: Walk): void {
  const message = `${origin.path} is packed more than ${MAX_DEPTH} times (${origin.encodings.join(', ')}, …).`;
  walk.faults.add('nested-too-deep', { message, consequence: 'It was not read: unpack it first.' });
}

const makeGunzip = () => createGunzip(ZLIB_OPTIONS);

/**
 * The content of a gzip with any number of members: the fast way for files on disk, and the careful way for everything else and
 * wherever the fast way gives up. Both decompress on Node's thread pool while the caller works on the chunk before.
 */
export async function* gunzip(
  layer: Layer,
  faults: Faults,
  progress: Progress,
  lending: Lending | undefined,
): AsyncGenerator<Uint8Array> {
  const { extent } = layer;
  const ahead =
    extent?.startInflater && lending ? yield* fastGunzip(extent.startInflater(), progress, lending) : null;
  if (ahead?.isComplete) return;
  let cursor = layer.cursor;
  for (let start = 0; ; ) {
    const skip = start === 0 ? (ahead?.made ?? 0) : 0;
    const first = yield* decode(makeGunzip(), cursor, skip, progress, start);
    if (first.error === null) return;
    const canRetry = extent !== null && !isTruncation(first.error);
    const last = canRetry ? yield* salvage(makeGunzip, extent, start, first) : first;
    // A file that changes meanwhile may decode the second time. It was broken all the same.
    const error = last.error ?? first.error;
    const position = storedPosition(layer, last, start);
    if (isTruncation(error)) faults.addTruncated('gzip', position);
    else reportDamage(layer, faults, error.message, position);
    const next = canRetry ? nextMember(last, start) : null;
    if (next === null || extent === null) return;
    start = next;
    cursor = new Cursor(readPieces(extent, start));
    if (!isGzip(await cursor.peek(3))) return cursor.close();
  }
}

/** Where the next gzip member starts after one whose data is complete but whose check failed: behind its trailer. */
function nextMember(outcome: Outcome, start: number): number | null {
  const failedAt = start + outcome.good; // the last byte of the field that does not match
  if (outcome.error?.message === 'incorrect data check') return failedAt + 1 + 4; // the length follows
  if (outcome.error?.message === 'incorrect length check') return failedAt + 1;
  return null;
}

function storedPosition(layer: Layer, outcome: Outcome, start: number): number {
  const offset = layer.extent?.offset ?? null;
  return offset === null ? layer.stored() : offset + start + outcome.good;
}

function reportDamage(layer: Layer, faults: Faults, error: string, position: number): void {
  const loss = layer.extent === null ? `, and up to ${CHUNK_BYTES >> 10} KiB before it may be missing` : '';
  if (error === 'incorrect header check') return faults.addTrailing('gzip', position, loss);
  const isCheck = /^incorrect (data|length) check$/.test(error);
  const consequence = isCheck
    ? `All of it was read${loss}, but some of it is not what was written.`
    : `Everything before the damage was read${loss}; the last part of it may be wrong, and the rest is missing.`;
  faults.add('corrupt-gzip', { message: `The gzip data is damaged: ${error}.`, consequence }, position);
}
