import { Cursor } from './cursor.js';
import { CHUNK_BYTES, type Extent, readPieces } from './extent.js';
import { Pump, type ZlibStream } from './pump.js';

/** How many stored bytes a decoder has consumed so far. */
export interface Progress {
  consumed: number;
}

/** How one decoding ended. */
export interface Outcome {
  readonly error: ZlibError | null;
  /** Decoded bytes that came out, including skipped ones. */
  readonly made: number;
  /** Stored bytes consumed by the calls to zlib that succeeded. */
  readonly good: number;
}

type ZlibError = Error & { readonly code: string };

/** Piece sizes of the second and third attempt of `salvage`. */
const CAREFUL_STEPS = [256, 1] as const;

/** The mark is as low as one chunk because an error throws away what has piled up inside zlib. */
export const ZLIB_OPTIONS = { chunkSize: CHUNK_BYTES, highWaterMark: CHUNK_BYTES } as const;

/** Decodes until the end or an error, without the first `skip` bytes. `start` is where the cursor began. */
export async function* decode(
  zlib: ZlibStream,
  cursor: Cursor,
  skip: number,
  progress: Progress,
  start = 0,
): AsyncGenerator<Uint8Array, Outcome> {
  const pump = new Pump(zlib, cursor);
  let made = 0;
  let good = 0;
  let error: ZlibError | null = null;
  try {
    for (let chunk = await pump.next(); chunk !== null; chunk = await pump.next()) {
      const fresh = made >= skip ? chunk : chunk.subarray(skip - made);
      made += chunk.length;
      progress.consumed = start + pump.consumed;
      if (fresh.length > 0) yield fresh;
    }
  } catch (caught) {
    if (!isZlibError(caught)) throw caught;
    error = caught;
  } finally {
    good = zlib.bytesWritten;
    progress.consumed = start + good;
    await pump.close();
  }
  return { error, made, good };
}

/**
 * Recovers what the first attempt lost: Node throws away the output of the call to zlib that met the error, up to a whole
 * chunk. So this decodes again from the start and gives zlib the bytes around the error in ever smaller pieces. With pieces
 * of one byte nothing decodable is left in the call that fails. Costs two more passes, only for broken files.
 */
export async function* salvage(
  make: () => ZlibStream,
  extent: Extent,
  start: number,
  failed: Outcome,
): AsyncGenerator<Uint8Array, Outcome> {
  let last = failed;
  for (const step of CAREFUL_STEPS) {
    const cursor = new Cursor(carefulPieces(extent, start, last.good, step));
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
async function* carefulPieces(extent: Extent, start: number, good: number, step: number) {
  let at = 0;
  for await (const piece of readPieces(extent, start)) {
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
