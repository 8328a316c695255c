import { COUNTER } from '../common/trace-rows/counters.js';
import { EventRow } from '../common/trace-rows/event-row.js';
import { NO_ID, OPS, WIDE_FIELDS } from '../common/trace-rows/schema.js';
import { KeyTable } from './js-keys.js';
import { EVENT_END, type Literal, Literals, literal } from './js-literals.js';
import { NumberReader, WIDE } from './js-numbers.js';
import { isNonFinite, NEED_MORE, nestedEnd, scalarEnd, skipSpace, stringEnd, valueEnd } from './js-text.js';

/** Not JSON. */
export const MALFORMED = -2;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const LETTER_N = 0x6e; // of null
const OPEN = 0x7b;
const CLOSE = 0x7d;

/** Reads one event, an object of the traceEvents array, into a row. Nothing is stored before its closing brace. */
export class EventReader {
  readonly row = new EventRow();
  readonly #keys = new KeyTable();
  readonly #numbers = new NumberReader();
  readonly #literals = new Literals();
  /** The literal before the value read last. */
  #before: Literal = this.#literals.root;
  #learnable = true;

  /** start: at '{'. Returns the byte after the event's '}', NEED_MORE or MALFORMED. */
  read(b: Uint8Array, start: number, end: number): number {
    this.row.begin();
    this.#before = this.#literals.root;
    let p = start + 1;
    for (;;) {
      const known = this.#literals.match(this.#before, b, p);
      if (known) {
        this.#before = known;
        p += known.bytes.length;
      } else {
        p = this.#walk(b, p, end);
        if (p < 0) return p;
      }
      const { code } = this.#before;
      if (code === EVENT_END) {
        this.row.finish();
        return p;
      }
      p = skipSpace(b, p); // a literal may be learned without the space here
      if (p >= end) return NEED_MORE;
      p = this.#value(b, p, end, code);
      if (p < 0) return p;
    }
  }

  /**
   * The slow way, with strict JSON: from the end of the value of #before to the next value or the end of the event. Learns
   * the literal in between and makes it #before.
   */
  #walk(b: Uint8Array, start: number, end: number): number {
    const before = this.#before;
    let inArgs = before.inArgs;
    let first = before === this.#literals.root;
    let p = start;
    this.#learnable = true;
    for (;;) {
      p = this.#memberStart(b, p, end, first);
      if (p < 0) return p;
      first = false;
      let code = EVENT_END;
      if (b[p] === CLOSE) {
        p++;
        if (inArgs) {
          inArgs = false;
          continue;
        }
      } else {
        code = this.#keys.find(b, p + 1, inArgs);
        p = this.#valueStart(b, end);
        if (p < 0) return p;
        if (code === OPS.args && b[p] === OPEN) {
          inArgs = true;
          first = true;
          p++;
          continue;
        }
        // Without the brace it would be a prefix of the literal with the brace.
        if (code === OPS.args) this.#learnable = false;
      }
      this.#before = this.#learnable
        ? this.#literals.learn(before, b, start, p, code, inArgs)
        : literal(b.subarray(0, 0), code, inArgs);
      return p;
    }
  }

  /** Skips the comma, except before the first member, to the quote of a key or the closing brace. */
  #memberStart(b: Uint8Array, from: number, end: number, first: boolean): number {
    let p = skipSpace(b, from);
    if (p >= end) return NEED_MORE;
    if (b[p] === CLOSE || (first && b[p] === QUOTE)) return p;
    if (first || b[p] !== COMMA) return MALFORMED;
    p = skipSpace(b, p + 1);
    if (p >= end) return NEED_MORE;
    if (b[p] === QUOTE) return p;
    if (b[p] !== CLOSE) return MALFORMED;
    this.row.counters.count(COUNTER.trailingComma);
    this.#learnable = false; // matching a learned literal would not count the comma
    return p;
  }

  /** From the key found last, past the colon, to its value. */
  #valueStart(b: Uint8Array, end: number): number {
    let p = skipSpace(b, this.#keys.end);
    if (p >= end) return NEED_MORE;
    if (b[p] !== COLON) return MALFORMED;
    p = skipSpace(b, p + 1);
    return p < end ? p : NEED_MORE;
  }

  /** Reads the value at p according to `key` (see KeyTable.find). Returns the byte after it, or NEED_MORE. */
  #value(b: Uint8Array, p: number, end: number, key: number): number {
    switch (key) {
      case OPS.skip:
      case OPS.args:
        return this.#skip(b, p, end);
      case OPS.ts:
        return this.#time(b, p, end);
      case OPS.dur:
        return this.#duration(b, p, end);
      case OPS.external:
      case OPS.correlation:
      case OPS.id:
        return this.#idValue(b, p, end, key);
      default:
        return this.#token(b, p, end, key);
    }
  }

  #skip(b: Uint8Array, p: number, end: number): number {
    const c = b[p]!;
    if (c === QUOTE) return stringEnd(b, p + 1, end);
    if ((c | 0x20) === OPEN) return nestedEnd(b, p, end);
    if (c > 0x39 || c === 0x2d) this.#noteNonFinite(b, p);
    return scalarEnd(b, p, end);
  }

  /** For a value that is not a number where one is expected: counts NaN and infinities. Null and text are just absent. */
  #noteNonFinite(b: Uint8Array, p: number): void {
    if (isNonFinite(b, p)) this.row.counters.count(COUNTER.nonFinite);
  }

  #time(b: Uint8Array, p: number, end: number): number {
    const stop = this.#readNs(b, p, end);
    this.row.us = this.#numbers.us;
    this.row.ns = this.#numbers.ns;
    return stop;
  }

  #duration(b: Uint8Array, p: number, end: number): number {
    const stop = this.#readNs(b, p, end);
    this.row.durUs = this.#numbers.us;
    this.row.durNs = this.#numbers.ns;
    return stop;
  }

  #readNs(b: Uint8Array, p: number, end: number): number {
    if (this.#numbers.readNs(b, p)) return this.#numbers.end < end ? this.#numbers.end : NEED_MORE;
    this.#noteNonFinite(b, p);
    return valueEnd(b, p, end);
  }

  /** An id of up to 32 bits; wider ones go to the table of wide ids. */
  #idValue(b: Uint8Array, p: number, end: number, key: number): number {
    let id = this.#numbers.readU32(b, p);
    let stop = this.#numbers.end;
    if (id === WIDE) {
      id = NO_ID;
      stop = valueEnd(b, p, end);
      if (stop === NEED_MORE) return NEED_MORE;
      if (b[p] !== LETTER_N) this.row.keepWide(wideField(key), b, p, stop);
    }
    if (key === OPS.external) this.row.external = id;
    else if (key === OPS.correlation) this.row.correlation = id;
    else this.row.id = id;
    return stop < end ? stop : NEED_MORE;
  }

  #token(b: Uint8Array, p: number, end: number, key: number): number {
    const stop = valueEnd(b, p, end);
    if (stop === NEED_MORE) return NEED_MORE;
    switch (key) {
      case OPS.name:
        this.row.name = this.row.strings.intern(b, p, stop);
        break;
      case OPS.pid:
        this.row.pid = this.row.strings.intern(b, p, stop);
        break;
      case OPS.tid:
        this.row.tid = this.row.strings.intern(b, p, stop);
        break;
      case OPS.phase:
        this.row.phase = b[p] === QUOTE && stop - p === 3 ? b[p + 1]! : 0;
        break;
      case OPS.category:
        this.row.category = b[p] === QUOTE ? this.row.strings.intern(b, p, stop) : 0;
        break;
      default:
        this.#argument(b, p, stop, key & 0xffff);
    }
    return stop;
  }

  /** An argument for a side table. detail: table << 8 | column. */
  #argument(b: Uint8Array, p: number, stop: number, detail: number): void {
    const table = detail >> 8;
    const column = detail & 0xff;
    const type = this.row.side.typeOf(table, column);
    if (type === 'token') this.row.side.set(table, column, this.row.strings.intern(b, p, stop));
    else if (type === 'f64') {
      const value = this.#numbers.readF64(b, p, stop);
      if (Number.isNaN(value)) this.#noteNonFinite(b, p);
      this.row.side.set(table, column, value);
    } else {
      const negative = type === 'i32' && b[p] === 0x2d;
      const value = this.#numbers.readU32(b, negative ? p + 1 : p);
      if (value !== WIDE && this.#numbers.end === stop && (type === 'u32' || value < 0x80000000)) {
        this.row.side.set(table, column, negative ? -value : value);
        return;
      }
      this.row.side.touch(table); // the entry exists although the value does not fit
      if (b[p] === LETTER_N) return;
      this.#noteNonFinite(b, p);
      this.row.keepWide(WIDE_FIELDS.side + detail, b, p, stop);
    }
  }
}

function wideField(key: number): number {
  if (key === OPS.external) return WIDE_FIELDS.external;
  return key === OPS.correlation ? WIDE_FIELDS.correlation : WIDE_FIELDS.id;
}
