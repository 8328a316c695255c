import { latin1 } from '../common/text.js';
import { ARG_KEYS, EVENT_KEYS, OPS, SIDE_TABLES } from './schema.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** What to do with the value of a key. Asked only while a literal is learned, so plain maps are fast enough. */
export class KeyTable {
  readonly #eventKeys = new Map(Object.entries(EVENT_KEYS));
  readonly #argKeys = new Map(Object.entries(ARG_KEYS));
  /** The byte after the closing quote of the key looked up last. */
  end = 0;

  constructor() {
    SIDE_TABLES.forEach((t, table) => {
      const names = Object.keys(t.columns);
      for (const [key, column] of Object.entries(t.args)) {
        this.#argKeys.set(key, (OPS.side << 16) | (table << 8) | names.indexOf(column));
      }
    });
  }

  /** start: first byte of a key. Returns its op, or OPS.side << 16 | table << 8 | column, or OPS.skip. */
  find(b: Uint8Array, start: number, inArgs: boolean): number {
    let p = start;
    while (b[p] !== QUOTE) p += b[p] === BACKSLASH ? 2 : 1;
    this.end = p + 1;
    return (inArgs ? this.#argKeys : this.#eventKeys).get(latin1(b, start, p)) ?? OPS.skip;
  }
}
