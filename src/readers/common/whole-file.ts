import { type JsonObject, parseJson, parseObject } from './json-object.js';

/** Holds a small file whole, for formats that are one JSON value. */
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

  /** The file is not held any longer. */
  text(): string {
    const bytes = Buffer.concat(this.#chunks);
    this.#chunks = [];
    return bytes.toString('utf8').replace(/^\ufeff/, '');
  }

  /** Undefined: not JSON, or too large. */
  json(): unknown {
    return this.isTooLarge ? undefined : parseJson(this.text());
  }

  /** Null: not one object, or too large. */
  object(): JsonObject | null {
    return this.isTooLarge ? null : parseObject(this.text());
  }
}
