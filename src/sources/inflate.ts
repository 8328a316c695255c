import { createGunzip } from 'node:zlib';
import type { ProblemText } from '../base/problem.js';
import { Cursor } from './cursor.js';
import {
  decode,
  isTruncation,
  type Outcome,
  type Progress,
  salvage,
  type ZlibError,
  zlibOptions,
} from './decode.js';
import { isGzip } from './encoding.js';
import { readPieces } from './extent.js';
import type { Decoding, Layer } from './layer.js';

/**
 * The inside of a gzip, any number of members. The hot path: inflate runs on Node's thread pool while the caller works
 * on the chunk before.
 */
export async function* gunzip(
  layer: Layer,
  decoding: Decoding,
  progress: Progress,
): AsyncGenerator<Uint8Array> {
  const { extent } = layer;
  const make = () => createGunzip(zlibOptions(decoding.sizes));
  let cursor = layer.cursor;
  for (let start = 0; ; ) {
    const first = yield* decode(make(), cursor, 0, progress, start);
    if (first.error === null) return;
    const canRetry = extent !== null && !isTruncation(first.error);
    const last = canRetry ? yield* salvage(make, extent, start, first, decoding.sizes) : first;
    // A file that changes meanwhile may well decode the second time; it was broken all the same.
    report(layer, decoding, { ...last, error: last.error ?? first.error }, start);
    const next = canRetry ? nextMember(last, start) : null;
    if (next === null || extent === null) return;
    start = next;
    cursor = new Cursor(readPieces(extent, decoding.sizes.read, start));
    if (!isGzip(await cursor.peek(3))) return cursor.close();
  }
}

/** Where the next gzip member starts after one whose data is whole but whose check failed: behind its trailer. */
function nextMember(outcome: Outcome, start: number): number | null {
  const failedAt = start + outcome.good; // the last byte of the field that does not fit
  if (outcome.error?.message === 'incorrect data check') return failedAt + 1 + 4; // the length follows
  if (outcome.error?.message === 'incorrect length check') return failedAt + 1;
  return null;
}

function report(layer: Layer, decoding: Decoding, outcome: Outcome, start: number): void {
  const offset = layer.extent?.offset ?? null;
  const place = offset === null ? layer.stored() : offset + start + outcome.good;
  const loss =
    layer.extent === null ? `, and up to ${decoding.sizes.chunk >> 10} KiB before it may be missing` : '';
  const { code, ...text } = describe(outcome.error as ZlibError, loss);
  decoding.faults.add(code, text, place);
}

function describe(error: ZlibError, loss: string): ProblemText & { readonly code: string } {
  if (isTruncation(error)) {
    return {
      code: 'truncated-gzip',
      message: 'The gzip data ends too early: the file was cut short or is still being written.',
      consequence: 'What comes before the cut was read; the rest is missing.',
    };
  }
  if (error.message === 'incorrect header check') {
    return {
      code: 'trailing-garbage',
      message: 'Bytes follow the gzip data that are not gzip.',
      consequence: `They were ignored${loss}.`,
    };
  }
  const isCheck = /^incorrect (data|length) check$/.test(error.message);
  return {
    code: 'corrupt-gzip',
    message: `The gzip data is damaged: ${error.message}.`,
    consequence: isCheck
      ? `All of it was read${loss}, but some of it is not what was written.`
      : `What comes before the damage was read${loss}; the last part of it may be wrong, the rest is missing.`,
  };
}
