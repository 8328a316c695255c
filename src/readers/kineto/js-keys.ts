import { sameBytes } from './js-text.js';
import { ARG_KEYS, EVENT_KEYS, OPS, SIDE_TABLES } from './schema.js';

const SLOTS = 512;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Key names to what to do with their value. Two sets: keys of the event itself, and of its "args". */
export class KeyTable {
  readonly #hashes = new Int32Array(SLOTS);
  readonly #names: (Uint8Array | undefined)[] = new Array(SLOTS);
  readonly #codes = new Int32Array(SLOTS);
  /** The byte after the closing quote of the key looked up last. */
  end = 0;

  constructor() {
    for (const [key, op] of Object.entries(EVENT_KEYS)) this.#add(key, false, op);
    for (const [key, op] of Object.entries(ARG_KEYS)) this.#add(key, true, op);
    SIDE_TABLES.forEach((t, table) => {
      const names = Object.keys(t.columns);
      for (const [key, column] of Object.entries<string>(t.args)) {
        this.#add(key, true, (OPS.side << 16) | (table << 8) | names.indexOf(column));
      }
    });
  }

  #add(key: string, inArgs: boolean, code: number): void {
    const name = new TextEncoder().encode(key); // a Buffer among plain arrays would slow down sameBytes
    let h = seed(inArgs);
    for (const c of name) h = mix(h, c);
    let slot = slotOf(h);
    while (this.#names[slot]) slot = (slot + 1) % SLOTS;
    this.#hashes[slot] = h;
    this.#names[slot] = name;
    this.#codes[slot] = code;
  }

  /** p: first byte of a key. Returns its op, or OPS.side << 16 | table << 8 | column, or OPS.skip. */
  find(b: Uint8Array, p: number, inArgs: boolean): number {
    const start = p;
    let h = seed(inArgs);
    for (let c = b[p]!; c !== QUOTE; c = b[p]!) {
      h = mix(h, c);
      p += c === BACKSLASH ? 2 : 1;
    }
    this.end = p + 1;
    for (let slot = slotOf(h); ; slot = (slot + 1) % SLOTS) {
      const name = this.#names[slot];
      if (name === undefined) return OPS.skip;
      if (this.#hashes[slot] === h && name.length === p - start && sameBytes(name, 0, name.length, b, start))
        return this.#codes[slot]!;
    }
  }
}

function seed(inArgs: boolean): number {
  return inArgs ? 0x50c5d1f : 0x811c9dc5 | 0;
}

function mix(h: number, c: number): number {
  return Math.imul(h ^ c, 0x01000193);
}

function slotOf(h: number): number {
  return (h ^ (h >>> 15)) & (SLOTS - 1);
}
