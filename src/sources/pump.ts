import type { Transform } from 'node:stream';
import type { Cursor } from './cursor.js';
import { StreamQueue } from './stream-queue.js';

/** A decoder of node:zlib; it counts the stored bytes it has consumed. */
export type ZlibStream = Transform & { readonly bytesWritten: number };

/**
 * Feeds stored bytes to a zlib stream and hands out its output.
 *
 * A second piece always waits behind the one being decoded, so that zlib starts on it before the caller gets to run. The
 * stream is ended only after the last piece is consumed and its output handed out: for a truncated file zlib raises its
 * error on `end()`, and an error throws away the output that is still inside.
 */
export class Pump {
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
