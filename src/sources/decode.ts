import { Cursor } from './cursor.js';
import { type Extent, readPieces } from './extent.js';
import type { Sizes } from './layer.js';
import { Pump, type ZlibStream } from './pump.js';

/** How far a decoder has come in its stored bytes, live. */
export interface Progress {
  consumed: number;
}

/** How one decoding ended. */
export interface Outcome {
  readonly error: ZlibError | null;
  /** Decoded bytes that came out, those skipped included. */
  readonly made: number;
  /** Stored bytes used up by the calls to zlib that went well. */
  readonly good: number;
}

export type ZlibError = Error & { readonly code: string };

/** Piece sizes of the second and third attempt, below. */
const CAREFUL_STEPS = [256, 1] as const;

/** The mark is as low as one chunk because what piles up inside zlib, beyond our queue, is thrown away by an error. */
export function zlibOptions(sizes: Sizes) {
  return { chunkSize: sizes.chunk, highWaterMark: sizes.chunk };
}

/** Decodes until the end or an error, leaving out the first `skip` bytes. `start` is where the cursor began. */
export async function* decode(
  zlib: ZlibStream,
  cursor: Cursor,
  skip: number,
  progress: Progress,
  start = 0,
): AsyncGenerator<Uint8Array, Outcome> {
  const pump = new Pump(zlib, cursor);
  let made = 0;
  try {
    for (let chunk = await pump.next(); chunk !== null; chunk = await pump.next()) {
      const fresh = made >= skip ? chunk : chunk.subarray(skip - made);
      made += chunk.length;
      progress.consumed = start + pump.consumed;
      if (fresh.length > 0) yield fresh;
    }
    return { error: null, made, good: zlib.bytesWritten };
  } catch (error) {
    if (!isZlibError(error)) throw error;
    return { error, made, good: zlib.bytesWritten };
  } finally {
    progress.consumed = start + zlib.bytesWritten;
    await pump.close();
  }
}

/**
 * What the first attempt lost: Node throws away the output of the call to zlib that met the error, up to a whole
 * chunk. So decode again from the start, but give zlib the bytes around the error in ever smaller pieces; with pieces
 * of one byte nothing decodable is left in the call that fails. Costs two more passes, only for broken files.
 */
export async function* salvage(
  make: () => ZlibStream,
  extent: Extent,
  start: number,
  failed: Outcome,
  sizes: Sizes,
): AsyncGenerator<Uint8Array, Outcome> {
  let last = failed;
  for (const step of CAREFUL_STEPS) {
    const cursor = new Cursor(carefulPieces(extent, start, last.good, step, sizes));
    const attempt = decode(make(), cursor, last.made, { consumed: 0 });
    // Gathered before any of it is handed out: a slow caller would let chunks pile up where the error drops them.
    const found: Uint8Array[] = [];
    let result = await attempt.next();
    for (; !result.done; result = await attempt.next()) found.push(result.value);
    last = { ...result.value, made: Math.max(result.value.made, last.made) };
    if (found.length > 0) yield Buffer.concat(found);
  }
  return last;
}

/** `good` bytes in the usual pieces, then pieces of `step` bytes. */
async function* carefulPieces(extent: Extent, start: number, good: number, step: number, sizes: Sizes) {
  let at = 0;
  for await (const piece of readPieces(extent, sizes.read, start)) {
    const whole = Math.max(0, Math.min(piece.length, good - at));
    if (whole > 0) yield piece.subarray(0, whole);
    for (let i = whole; i < piece.length; i += step) yield piece.subarray(i, i + step);
    at += piece.length;
  }
}

export function isTruncation(error: ZlibError): boolean {
  return error.code === 'Z_BUF_ERROR';
}

function isZlibError(error: unknown): error is ZlibError {
  return error instanceof Error && /^(Z_|ZSTD_)/.test(String((error as { code?: unknown }).code));
}
