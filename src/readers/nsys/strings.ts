import type { StringData } from '../../model/string-table.js';

/** Names of thousands of characters are templates, and what tells them apart comes first. */
export const MAX_NAME = 1 << 14;

/** What stands in place of a name that the file does not have. */
const MISSING = '(name missing)';

/**
 * Texts of a trace, by the ids of nsys or by themselves. Ids get their text later: only those in use are worth reading, of
 * what may be millions of symbols.
 */
export class NsysStrings {
  readonly #tokens = new Map<number | string, number>();
  /** By token. Null: its text is not known yet. Token 0 means "none". */
  readonly #texts: (string | null)[] = [''];

  /** The token of a string in the file's table of strings. */
  ofId(id: number): number {
    return Number.isNaN(id) ? 0 : this.#token(id, null);
  }

  ofText(text: string): number {
    return this.#token(text, text);
  }

  isWanted(id: number): boolean {
    return this.#tokens.has(id);
  }

  /** Gives an id its text. */
  resolve(id: number, text: string): void {
    this.#texts[this.#tokens.get(id)!] = text;
  }

  text(token: number): string {
    return this.#texts[token] ?? MISSING;
  }

  get size(): number {
    return this.#texts.length;
  }

  /** Names in use that the file lacks. */
  get missing(): number {
    return this.#texts.reduce((n, text) => n + Number(text === null), 0);
  }

  finish(): StringData {
    const tokens = this.#texts.map((text, i) => (i === 0 ? '' : JSON.stringify(text ?? MISSING)));
    const starts = new Uint32Array(tokens.length + 1);
    for (const [i, token] of tokens.entries()) starts[i + 1] = starts[i]! + Buffer.byteLength(token);
    const bytes = new Uint8Array(starts.at(-1)!);
    const buffer = Buffer.from(bytes.buffer);
    for (const [i, token] of tokens.entries()) buffer.write(token, starts[i]!);
    return { bytes, starts };
  }

  #token(key: number | string, text: string | null): number {
    const known = this.#tokens.get(key);
    if (known !== undefined) return known;
    const token = this.#texts.push(text) - 1;
    this.#tokens.set(key, token);
    return token;
  }
}
