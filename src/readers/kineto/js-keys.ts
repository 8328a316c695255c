import { latin1 } from '../common/text.js';
import { argumentCodes, EVENT_KEYS, OPS } from '../common/trace-rows/schema.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** What to do with the value of a key. Asked only while a literal is learned, so plain maps are fast enough. */
export class KeyTable {
  readonly #eventKeys = new Map(Object.entries(EVENT_KEYS));
  readonly #argKeys = argumentCodes();
  /** The byte after the closing quote of the key looked up last. */
  end = 0;

  /** start: first byte of a key. Returns its code (see `argumentCodes`), or OPS.skip. */
  find(b: Uint8Array, start: number, inArgs: boolean): number {
    let p = start;
    while (b[p] !== QUOTE) p += b[p] === BACKSLASH ? 2 : 1;
    this.end = p + 1;
    return (inArgs ? this.#argKeys : this.#eventKeys).get(latin1(b, start, p)) ?? OPS.skip;
  }
}
