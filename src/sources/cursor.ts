const EMPTY = new Uint8Array(0);

/** Chunks in order. `return` releases the source; it must not wait for data that may never come. */
export type Chunks = AsyncIterator<Uint8Array, unknown>;

/** A position in a stream of chunks: peek, read, skip. Hands out views and copies only to join chunks. */
export class Cursor {
  /** Bytes handed out or skipped so far. */
  position = 0;
  #rest: Uint8Array = EMPTY;
  #ended = false;

  constructor(readonly source: Chunks) {}

  /** The next `count` bytes without moving on; fewer only at the end. */
  async peek(count: number): Promise<Uint8Array> {
    if (this.#rest.length < count) await this.#gather(count);
    return this.#rest.subarray(0, count);
  }

  /** The next `count` bytes; fewer only at the end. */
  async read(count: number): Promise<Uint8Array> {
    const bytes = await this.peek(count);
    this.#advance(bytes.length);
    return bytes;
  }

  /** The next piece of at most `max` bytes, as it came; null at the end. */
  async take(max = Number.POSITIVE_INFINITY): Promise<Uint8Array | null> {
    while (this.#rest.length === 0) {
      const chunk = await this.#next();
      if (chunk === null) return null;
      this.#rest = chunk;
    }
    const bytes = this.#rest.length <= max ? this.#rest : this.#rest.subarray(0, max);
    this.#advance(bytes.length);
    return bytes;
  }

  /** Moves on by up to `count` bytes; returns by how many. */
  async skip(count: number): Promise<number> {
    let left = count;
    while (left > 0) {
      const bytes = await this.take(left);
      if (bytes === null) break;
      left -= bytes.length;
    }
    return count - left;
  }

  async close(): Promise<void> {
    this.#ended = true;
    this.#rest = EMPTY;
    await this.source.return?.();
  }

  #advance(count: number): void {
    this.#rest = this.#rest.subarray(count);
    this.position += count;
  }

  async #gather(count: number): Promise<void> {
    const parts = [this.#rest];
    let total = this.#rest.length;
    while (total < count) {
      const chunk = await this.#next();
      if (chunk === null) break;
      parts.push(chunk);
      total += chunk.length;
    }
    const filled = parts.filter((part) => part.length > 0);
    this.#rest = filled.length > 1 ? Buffer.concat(filled) : (filled[0] ?? EMPTY);
  }

  async #next(): Promise<Uint8Array | null> {
    if (this.#ended) return null;
    const { done, value } = await this.source.next();
    if (!done) return value as Uint8Array;
    this.#ended = true;
    return null;
  }
}
