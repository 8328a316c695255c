import type { Strings } from '../common/trace-rows/row-tables.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** The table of strings cuts longer ones, and counts them. */
const MAX_TEXT = (64 << 10) + 16;

/** JSON text that is being written, byte by byte. What exceeds the limit is dropped. */
export class TokenWriter {
  readonly #strings: Strings;
  readonly #bytes = new Uint8Array(2 * MAX_TEXT);
  #length = 0;

  constructor(strings: Strings) {
    this.#strings = strings;
  }

  begin(): this {
    this.#length = 0;
    return this;
  }

  /** The id of what was written. */
  finish(): number {
    return this.#length === 0 ? 0 : this.#strings.intern(this.#bytes, 0, Math.min(this.#length, MAX_TEXT));
  }

  /** The bytes written, for as long as nothing else is. */
  view(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  raw(text: string): this {
    for (let i = 0; i < text.length && this.#length < MAX_TEXT; i++)
      this.#bytes[this.#length++] = text.charCodeAt(i);
    return this;
  }

  /** A text in UTF-8, as a JSON string. */
  quoted(b: Uint8Array, from: number, to: number): this {
    this.#byte(QUOTE);
    const stop = Math.min(to, from + MAX_TEXT - this.#length);
    for (let i = from; i < stop; i++) {
      const c = b[i]!;
      if (c === QUOTE || c === BACKSLASH) {
        this.#byte(BACKSLASH);
        this.#byte(c);
      } else if (c < 0x20) this.raw(`\\u${c.toString(16).padStart(4, '0')}`);
      else this.#bytes[this.#length++] = c;
    }
    this.#byte(QUOTE);
    return this;
  }

  #byte(c: number): void {
    if (this.#length < MAX_TEXT) this.#bytes[this.#length++] = c;
  }
}

/** Ids of JSON tokens in the table of strings. */
export class Tokens {
  readonly writer: TokenWriter;
  readonly #numbers = new Map<number, number>();
  readonly #texts = new Map<string, number>();

  constructor(strings: Strings) {
    this.writer = new TokenWriter(strings);
  }

  ofBytes(b: Uint8Array, from: number, to: number): number {
    return this.writer.begin().quoted(b, from, to).finish();
  }

  /** For the few texts of the code itself. */
  ofText(text: string): number {
    let token = this.#texts.get(text);
    if (token === undefined) {
      const utf8 = Buffer.from(text);
      token = this.ofBytes(utf8, 0, utf8.length);
      this.#texts.set(text, token);
    }
    return token;
  }

  ofNumber(value: number): number {
    const known = this.#numbers.get(value);
    if (known !== undefined) return known;
    const token = this.writer.begin().raw(String(value)).finish();
    if (this.#numbers.size < MAX_NUMBERS) this.#numbers.set(value, token);
    return token;
  }
}
/** Numbers whose token is remembered: sizes of grids, processes and threads. */
const MAX_NUMBERS = 1 << 16;
