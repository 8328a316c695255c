import type { Readable, Transform } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Cursor } from './cursor.js';
import { CHUNK_BYTES, type Extent, readPieces } from './extent.js';

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

/**
 * The careful way, for every zlib format and for damaged data: decodes until the end or an error, without the first `skip` bytes. `start`
 * is where the cursor began.
 */
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

/** A decoder of node:zlib; it counts the stored bytes it has consumed. */
export type ZlibStream = Transform & { readonly bytesWritten: number };

/**
 * Feeds stored bytes to a zlib stream and hands out its output.
 *
 * A second piece always waits behind the one being decoded, so that zlib starts on it before the caller gets to run. The
 * stream is ended only after the last piece is consumed and its output handed out: for a truncated file zlib raises its
 * error on `end()`, and an error throws away the output that is still inside.
 */
class Pump {
  readonly #queue: StreamQueue<ZlibStream>;
  readonly #fed: Promise<void>;
  #stopped = false;
  readonly #writing = new Set<() => void>();

  constructor(
    readonly zlib: ZlibStream,
    readonly input: Cursor,
  ) {
    this.#queue = new StreamQueue(zlib, () => zlib.bytesWritten);
    this.#fed = this.#feed();
  }

  /** Stored bytes that went into the chunks handed out so far. */
  get consumed(): number {
    return this.#queue.mark;
  }

  /** The next decoded chunk; null at the end. Throws zlib's error, or that of the input. */
  async next(): Promise<Uint8Array | null> {
    const { value } = await this.#queue.next();
    return value ?? null;
  }

  /** Releases the decoder and the input. May be called at any time. */
  async close(): Promise<void> {
    this.#stop();
    await this.#queue.return();
    await this.input.close();
    await this.#fed;
  }

  async #feed(): Promise<void> {
    try {
      let before: Promise<void> | null = null;
      for (;;) {
        const piece = await this.input.take();
        if (this.#stopped || this.zlib.destroyed) return;
        if (piece === null) break;
        const written = this.#write(piece);
        await before;
        before = written;
      }
      await before;
      this.#queue.whenEmpty(() => this.zlib.end());
    } catch (error) {
      this.#queue.fail(error);
    }
  }

  /** Resolves when the piece is consumed, or on `close`: zlib does not call back when the data ends inside a piece. */
  #write(piece: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      this.#writing.add(resolve);
      this.zlib.write(piece, () => {
        this.#writing.delete(resolve);
        resolve();
      });
    });
  }

  #stop(): void {
    this.#stopped = true;
    for (const resolve of this.#writing) resolve();
  }
}

/** The stream is paused when more chunks than this wait, and resumed when fewer than that are left. */
const PAUSE_ABOVE = 8;
const RESUME_BELOW = 4;

interface Waiting {
  readonly chunk: Uint8Array;
  readonly mark: number;
}

/**
 * The chunks of a Node stream, one by one, as they come.
 *
 * Why not `for await` on the stream: its `read()` joins chunks that have piled up, which copies. Why not work in the
 * `'data'` handler: zlib schedules the next inflate on its thread only after the handler has returned, so nothing would
 * overlap. So the handler only queues, and a waiting `next` gets the chunk after the handler has returned.
 */
export class StreamQueue<S extends Readable = Readable> implements AsyncIterator<Uint8Array, undefined> {
  /** `mark()` at the moment the last chunk handed out was made. */
  mark = 0;
  readonly #waiting: Waiting[] = [];
  #ended = false;
  #error: unknown = null;
  #wake: (() => void) | null = null;
  #whenEmpty: (() => void) | null = null;

  constructor(
    readonly stream: S,
    mark: (stream: S) => number = () => 0,
  ) {
    stream.on('data', (chunk: Uint8Array) => {
      this.#waiting.push({ chunk, mark: mark(stream) });
      if (this.#waiting.length > PAUSE_ABOVE) stream.pause();
      this.#wakeUp();
    });
    stream.once('end', () => this.#end());
    stream.once('close', () => this.#end());
    stream.on('error', (error: unknown) => this.fail(error));
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    // This chunk was made while the caller was busy: let zlib start on the next before the caller is busy again.
    if (this.#waiting.length > 0) await nextTurn();
    for (;;) {
      const first = this.#waiting.shift();
      if (first !== undefined) {
        if (this.#waiting.length < RESUME_BELOW && this.stream.isPaused()) this.stream.resume();
        this.mark = first.mark;
        return { done: false, value: first.chunk };
      }
      if (this.#error !== null) throw this.#error;
      if (this.#ended) return { done: true, value: undefined };
      if (this.#whenEmpty !== null && this.stream.readableLength === 0) {
        this.#whenEmpty();
        this.#whenEmpty = null;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Ends at once, also a `next` that is waiting for data. */
  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#waiting.length = 0;
    this.#end();
    this.stream.destroy();
    return { done: true, value: undefined };
  }

  /** Calls `action` once everything made so far has been handed out. */
  whenEmpty(action: () => void): void {
    this.#whenEmpty = action;
    this.#wakeUp();
  }

  /** Ends with an error after the waiting chunks have been handed out. */
  fail(error: unknown): void {
    this.#error ??= error;
    this.#wakeUp();
  }

  #end(): void {
    this.#ended = true;
    this.#wakeUp();
  }

  #wakeUp(): void {
    this.#wake?.();
    this.#wake = null;
  }
}
