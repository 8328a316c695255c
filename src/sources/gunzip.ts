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
import { isGzip } from './encoding.js';
import { CHUNK_BYTES, readPieces } from './extent.js';
import { fastGunzip } from './fast-gunzip.js';
import type { Faults } from './faults.js';
import type { Layer } from './layer.js';
import type { Lending } from './stream.js';

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
