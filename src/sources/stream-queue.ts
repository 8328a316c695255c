import type { Readable } from 'node:stream';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';

/** Chunks that may wait before the stream is paused, and how many are left when it is woken. */
const PAUSE_ABOVE = 8;
const RESUME_BELOW = 4;

interface Waiting {
  readonly chunk: Uint8Array;
  readonly mark: number;
}

/**
 * The chunks of a Node stream, one by one, as they come.
 *
 * Why not `for await` on the stream: its `read()` joins what has piled up, which copies. Why not work in the `'data'`
 * handler: zlib schedules the next inflate on its thread only after the handler has returned, so nothing would
 * overlap. The handler therefore only queues, and whoever waits gets the chunk after it has returned.
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
      this.#rouse();
    });
    stream.once('end', () => this.#end());
    stream.once('close', () => this.#end());
    stream.on('error', (error: unknown) => this.fail(error));
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    // The caller was busy while this chunk was made: let zlib see that it may go on before he is busy again.
    if (this.#waiting.length > 0) await turnOfTheLoop();
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

  /** Ends at once, also for a `next` that is waiting for data. */
  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#waiting.length = 0;
    this.#end();
    this.stream.destroy();
    return { done: true, value: undefined };
  }

  /** Calls `action` once everything made so far has been handed out. */
  whenEmpty(action: () => void): void {
    this.#whenEmpty = action;
    this.#rouse();
  }

  /** Ends with an error after what is waiting has been handed out. */
  fail(error: unknown): void {
    this.#error ??= error;
    this.#rouse();
  }

  #end(): void {
    this.#ended = true;
    this.#rouse();
  }

  #rouse(): void {
    this.#wake?.();
    this.#wake = null;
  }
}
