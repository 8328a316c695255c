import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';

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
