import { latin1, sameBytes } from '../common/text.js';
import { COUNTER } from '../common/trace-rows/counters.js';
import { EventRow } from '../common/trace-rows/event-row.js';
import { argumentCodes, EVENT_KEYS, NO_ID, OPS, WIDE_FIELDS } from '../common/trace-rows/schema.js';
import { isNonFinite, NEED_MORE, nestedEnd, scalarEnd, skipSpace, stringEnd, valueEnd } from './json-text.js';

/** Not JSON. */
export const MALFORMED = -2;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const LETTER_N = 0x6e; // of null
const OPEN = 0x7b;
const CLOSE = 0x7d;

/** The number does not fit 32 bits, or is not a plain non-negative integer. */
const WIDE = -1;
/** As in wasm/assembly/numbers.ts: larger times in nanoseconds do not fit 63 bits. */
const MAX_US = 9e15;
const MAX_NS = 9_000_000_000_000_000_000n;

type Codes = readonly { readonly key: Uint8Array; readonly code: number }[][];

/** Keys by their length: a string for each key of each event would take longer than all the rest. */
function byLength(codes: ReadonlyMap<string, number>): Codes {
  const lists: { key: Uint8Array; code: number }[][] = [];
  for (const [name, code] of codes) {
    const key = Buffer.from(name);
    lists[key.length] ??= [];
    lists[key.length]!.push({ key, code });
  }
  return lists;
}

function codeOf(codes: Codes, b: Uint8Array, from: number, to: number): number {
  for (const { key, code } of codes[to - from] ?? []) if (sameBytes(key, 0, key.length, b, from)) return code;
  return OPS.skip;
}

const TOP_LEVEL = byLength(new Map(Object.entries(EVENT_KEYS)));
const ARGUMENTS = byLength(argumentCodes());

/** Reads one event, an object of the traceEvents array, into a row. Nothing is stored before its closing brace. */
export class EventReader {
  readonly row = new EventRow();
  /** The time read last is us * 1000 + ns, both integers of the same sign: one double could not hold it. */
  #us = Number.NaN;
  #ns = 0;

  /** start: at '{'. Returns the byte after the event's '}', NEED_MORE or MALFORMED. */
  read(b: Uint8Array, start: number, end: number): number {
    this.row.begin();
    const stop = this.#members(b, start + 1, end, TOP_LEVEL);
    if (stop >= 0) this.row.finish();
    return stop;
  }

  /** From after '{' to after its '}'. */
  #members(b: Uint8Array, start: number, end: number, codes: Codes): number {
    let p = skipSpace(b, start);
    for (let isFirst = true; ; isFirst = false) {
      p = this.#memberStart(b, p, end, isFirst);
      if (p < 0 || b[p] === CLOSE) return p < 0 ? p : p + 1;
      const keyEnd = stringEnd(b, p + 1, end);
      if (keyEnd === NEED_MORE) return NEED_MORE;
      const code = codeOf(codes, b, p + 1, keyEnd - 1);
      p = skipSpace(b, keyEnd);
      if (p < end && b[p] !== COLON) return MALFORMED;
      p = skipSpace(b, p + 1);
      if (p >= end) return NEED_MORE;
      const isArguments = code === OPS.args && b[p] === OPEN;
      p = isArguments ? this.#members(b, p + 1, end, ARGUMENTS) : this.#value(b, p, end, code);
      if (p < 0) return p;
      p = skipSpace(b, p);
    }
  }

  /** Skips the comma, except before the first member, to the quote of a key or the closing brace. */
  #memberStart(b: Uint8Array, from: number, end: number, isFirst: boolean): number {
    if (from >= end) return NEED_MORE;
    if (b[from] === CLOSE || (isFirst && b[from] === QUOTE)) return from;
    if (isFirst || b[from] !== COMMA) return MALFORMED;
    const p = skipSpace(b, from + 1);
    if (p >= end) return NEED_MORE;
    if (b[p] === QUOTE) return p;
    if (b[p] !== CLOSE) return MALFORMED;
    this.row.counters.count(COUNTER.trailingComma);
    return p;
  }

  /** Reads the value at p according to `key` (see `argumentCodes`). Returns the byte after it, or NEED_MORE. */
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
    this.row.us = this.#us;
    this.row.ns = this.#ns;
    return stop;
  }

  #duration(b: Uint8Array, p: number, end: number): number {
    const stop = this.#readNs(b, p, end);
    this.row.durUs = this.#us;
    this.row.durNs = this.#ns;
    return stop;
  }

  /** Microseconds into #us and #ns. */
  #readNs(b: Uint8Array, start: number, end: number): number {
    let us = 0;
    let ns = 0;
    let p = start;
    for (; isDigit(b[p]!) && us < MAX_US; p++) us = us * 10 + (b[p]! - 0x30);
    const whole = p;
    if (b[p] === 0x2e)
      for (let unit = 100; isDigit(b[++p]!) && unit >= 1; unit /= 10) ns += (b[p]! - 0x30) * unit;
    const isPlain =
      whole > start && us < MAX_US && p !== whole + 1 && !isDigit(b[p]!) && (b[p]! | 0x20) !== 0x65;
    if (!isPlain) return this.#readSlowly(b, start, end);
    this.#us = us;
    this.#ns = ns;
    return p < end ? p : NEED_MORE;
  }

  /** Sign, many digits, exponent, a number in quotes (torch_npu writes times so), or no number at all. */
  #readSlowly(b: Uint8Array, p: number, end: number): number {
    const stop = valueEnd(b, p, end);
    this.#us = Number.NaN;
    this.#ns = 0;
    if (stop === NEED_MORE) return NEED_MORE;
    const isQuoted = b[p] === QUOTE;
    const text = isQuoted ? latin1(b, p + 1, stop - 1) : latin1(b, p, stop);
    const digits = NUMBER_START.exec(text)?.[0] ?? '';
    const isNumber = digits !== '' && (!isQuoted || digits === text);
    const ns = isNumber ? nanosecondsOf(digits) : null;
    if (ns === null) {
      this.#noteNonFinite(b, p);
      return stop;
    }
    this.#us = Number(ns / 1000n);
    this.#ns = Number(ns % 1000n);
    return isQuoted ? stop : p + digits.length;
  }

  /** An id of up to 32 bits; wider ones go to the table of wide ids. */
  #idValue(b: Uint8Array, p: number, end: number, key: number): number {
    let stop = valueEnd(b, p, end);
    if (stop === NEED_MORE) return NEED_MORE;
    const digits = wholeNumber(b, p);
    let id = digits.value;
    if (id !== WIDE) stop = digits.end;
    else {
      id = NO_ID;
      if (b[p] !== LETTER_N) this.row.keepWide(wideField(key), b, p, stop);
    }
    if (key === OPS.external) this.row.external = id;
    else if (key === OPS.correlation) this.row.correlation = id;
    else this.row.id = id;
    return stop;
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
      const text = latin1(b, p, stop);
      const value = STARTS_AS_NUMBER.test(text) ? Number(text) : Number.NaN;
      if (Number.isNaN(value)) this.#noteNonFinite(b, p);
      this.row.side.set(table, column, value);
    } else {
      const negative = type === 'i32' && b[p] === 0x2d;
      const { value, end } = wholeNumber(b, negative ? p + 1 : p);
      if (value !== WIDE && end === stop && (type === 'u32' || value < 0x80000000)) {
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

const STARTS_AS_NUMBER = /^-?\d/;
const NUMBER_START = /^-?\d+(?:\.\d*)?(?:[eE][+-]?\d*)?/;
const NUMBER = /^(-?)0*(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d*))?$/;

/** Microseconds as text; null when out of range. */
function nanosecondsOf(text: string): bigint | null {
  const [, sign, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(text)!;
  const ns = scaled((whole + fraction).replace(/^0+/, ''), 3 - fraction.length + Number(exponent));
  return ns !== null && sign === '-' ? -ns : ns;
}

/** digits * 10^scale as an integer, rounding half up on the first dropped digit; null when out of range. */
function scaled(digits: string, scale: number): bigint | null {
  const kept = digits.length + scale;
  if (digits === '' || kept < 0) return 0n;
  if (kept > 19) return null;
  const v =
    BigInt(digits.slice(0, kept).padEnd(kept, '0') || '0') + (digits.charCodeAt(kept) >= 0x35 ? 1n : 0n);
  return v > MAX_NS ? null : v;
}

/** An unsigned integer below 0xffffffff, or WIDE; and where its digits end. */
function wholeNumber(b: Uint8Array, start: number): { readonly value: number; readonly end: number } {
  let value = 0;
  let p = start;
  for (; isDigit(b[p]!) && value < NO_ID; p++) value = value * 10 + (b[p]! - 0x30);
  const isPlain = p > start && value < NO_ID && b[p] !== 0x2e && (b[p]! | 0x20) !== 0x65;
  return { value: isPlain ? value : WIDE, end: p };
}

function isDigit(c: number): boolean {
  return c >= 0x30 && c <= 0x39;
}
