/** What is asked of a server at a time. A request takes as long as some MB of data. */
const BLOCK = 4 << 20;
const MAX_BLOCKS = 8;

/** Random access in few requests: zip archives and databases are read in many small pieces that are close together. */
export class BlockCache {
  readonly #size: number;
  readonly #fetch: (at: number, length: number) => Promise<Uint8Array>;
  /** By number, the one used last at the end. */
  readonly #blocks = new Map<number, Promise<Uint8Array>>();

  constructor(size: number, fetch: (at: number, length: number) => Promise<Uint8Array>) {
    this.#size = size;
    this.#fetch = fetch;
  }

  /** `length` bytes from `at`; fewer only at the end. */
  async read(at: number, length: number): Promise<Uint8Array> {
    const end = Math.min(at + length, this.#size);
    const parts: Uint8Array[] = [];
    for (let from = at; from < end; ) {
      const number = Math.floor(from / BLOCK);
      const block = await this.#block(number);
      const start = from - number * BLOCK;
      const part = block.subarray(start, Math.min(block.length, start + end - from));
      if (part.length === 0) break;
      parts.push(part);
      from += part.length;
    }
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  }

  #block(number: number): Promise<Uint8Array> {
    const at = number * BLOCK;
    const block = this.#blocks.get(number) ?? this.#fetch(at, Math.min(BLOCK, this.#size - at));
    this.#blocks.delete(number);
    this.#blocks.set(number, block);
    // A failure is not kept.
    block.catch(() => this.#blocks.delete(number));
    if (this.#blocks.size > MAX_BLOCKS) this.#blocks.delete(this.#blocks.keys().next().value!);
    return block;
  }
}
