import { type JsonObject, parseObject } from './json-object.js';

/** Holds a small file whole, for formats that are one JSON object. */
export class WholeFile {
  readonly #limit: number;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= this.#limit) this.#chunks.push(Buffer.from(chunk));
    else this.#chunks = [];
  }

  get isTooLarge(): boolean {
    return this.#bytes > this.#limit;
  }

  bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  text(): string {
    return this.bytes()
      .toString('utf8')
      .replace(/^\ufeff/, '');
  }

  /** Null: not one object, or too large. */
  object(): JsonObject | null {
    return this.isTooLarge ? null : parseObject(this.text());
  }
}
