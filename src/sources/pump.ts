import type { Transform } from 'node:stream';
import type { Cursor } from './cursor.js';
import { StreamQueue } from './stream-queue.js';

/** A decoder of node:zlib; it counts the stored bytes it has used up. */
export type ZlibStream = Transform & { readonly bytesWritten: number };

/**
 * Feeds stored bytes to a zlib stream and hands out what it makes of them.
 *
 * One piece at a time is written, and the stream is ended only after the last piece is used up and its output handed
 * out: for a file that is cut short zlib raises its error on `end()`, and an error throws away what is still inside.
 */
export class Pump {
  readonly #queue: StreamQueue<ZlibStream>;
  readonly #fed: Promise<void>;
  #stopped = false;
  #released: (() => void) | null = null;

  constructor(
    readonly zlib: ZlibStream,
    readonly input: Cursor,
  ) {
    this.#queue = new StreamQueue(zlib, () => zlib.bytesWritten);
    for (const event of ['end', 'error', 'close']) zlib.once(event, () => this.#stop());
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

  /** Frees the decoder and the input, at any time. */
  async close(): Promise<void> {
    this.#stop();
    await this.#queue.return();
    await this.input.close();
    await this.#fed;
  }

  async #feed(): Promise<void> {
    try {
      for (;;) {
        const piece = await this.input.take();
        if (this.#stopped) return;
        if (piece === null) break;
        await this.#write(piece);
        if (this.#stopped) return;
      }
      this.#queue.whenEmpty(() => this.zlib.end());
    } catch (error) {
      this.#queue.fail(error);
    }
  }

  /** Resolves when the piece is used up. zlib never says so once it has met the end of the data within the piece. */
  #write(piece: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      this.#released = resolve;
      this.zlib.write(piece, () => resolve());
    });
  }

  #stop(): void {
    this.#stopped = true;
    this.#released?.();
  }
}
