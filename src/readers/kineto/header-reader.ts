import type { ProblemLog } from '../../base/problem.js';
import { parseJson } from '../common/json-object.js';
import { READ_FIELDS } from '../common/trace-rows/header.js';

/** Longer fields are cut. The process groups of a 10,000-rank job take a few MB; any other field, a few hundred bytes. */
const MAX_LARGE_FIELD = 8 << 20;
const LARGE_FIELDS = ['deviceProperties', 'distributedInfo'];
const MAX_FIELD = 65536;
/** Fields that nothing here reads, together. Real traces have about twenty. */
const MAX_FIELDS = 1000;
const MAX_FIELD_BYTES = 1 << 20;
const MAX_KEY = 4096;
const EVENTS_KEY = 'traceEvents';

interface HeaderStep {
  readonly consumed: number;
  /** `events`: a traceEvents array has just been opened. `end`: the document has ended. `more`: needs more bytes. */
  readonly next: 'again' | 'more' | 'events' | 'end';
}

type State = 'start' | 'member' | 'value' | 'seek';

const isSpace = (c: number | undefined) => c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Reads what is outside the events: the fields of the top-level object, as JSON text. Takes bytes in chunks of any size and
 * holds only the fields it keeps. A header that is not JSON is searched for the events instead.
 */
export class HeaderReader {
  readonly fields = new Map<string, string>();
  /** Characters of the fields that nothing reads, including those that a later one replaced. */
  #total = 0;
  readonly #problems: ProblemLog;
  #state: State = 'start';
  #bareArray = false;
  #key = '';
  #pieces: Uint8Array[] = [];
  #kept = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** The document has begun. */
  started = false;

  constructor(problems: ProblemLog) {
    this.#problems = problems;
  }

  /** After the events array was closed: whether the document goes on. */
  afterEvents(): 'more' | 'end' {
    this.#state = 'member';
    return this.#bareArray ? 'end' : 'more';
  }

  read(bytes: Uint8Array, offset: number): HeaderStep {
    switch (this.#state) {
      case 'start':
        return this.#readStart(bytes);
      case 'member':
        return this.#readMember(bytes, offset);
      case 'value':
        return this.#readValue(bytes);
      default:
        return this.#seekEvents(bytes);
    }
  }

  #readStart(bytes: Uint8Array): HeaderStep {
    let at = 0;
    while (at < bytes.length && bytes[at] !== 0x7b && bytes[at] !== 0x5b) at++;
    if (at === bytes.length) return { consumed: at, next: 'more' };
    this.started = true;
    this.#bareArray = bytes[at] === 0x5b;
    this.#state = 'member';
    return { consumed: at + 1, next: this.#bareArray ? 'events' : 'again' };
  }

  /** A comma, a key with its colon and the first byte of the value, or the closing brace. */
  #readMember(bytes: Uint8Array, offset: number): HeaderStep {
    let at = 0;
    while (at < bytes.length && (isSpace(bytes[at]) || bytes[at] === 0x2c)) at++;
    if (at === bytes.length) return { consumed: at, next: 'more' };
    if (bytes[at] === 0x7d) return { consumed: at + 1, next: 'end' };
    if (bytes[at] !== QUOTE) return this.#giveUp(at, offset);
    const close = stringEnd(bytes, at + 1);
    if (close < 0) return this.#needMore(bytes.length, at, offset);
    let value = close + 1;
    while (isSpace(bytes[value])) value++;
    if (value >= bytes.length) return this.#needMore(bytes.length, at, offset);
    if (bytes[value] !== 0x3a) return this.#giveUp(at, offset);
    value++;
    while (isSpace(bytes[value])) value++;
    if (value >= bytes.length) return this.#needMore(bytes.length, at, offset);
    this.#key = decodeKey(bytes.subarray(at, close + 1));
    if (this.#key === EVENTS_KEY && bytes[value] === 0x5b) return { consumed: value + 1, next: 'events' };
    this.#state = 'value';
    this.#pieces = [];
    this.#kept = 0;
    this.#depth = 0;
    return { consumed: value, next: 'again' };
  }

  #readValue(bytes: Uint8Array): HeaderStep {
    for (let at = 0; at < bytes.length; at++) {
      if (this.#inString) {
        at = this.#stringEnd(bytes, at);
        continue;
      }
      const c = bytes[at]!;
      if (c === QUOTE) this.#inString = true;
      else if (c === 0x7b || c === 0x5b) this.#depth++;
      else if (this.#depth > 0) {
        if (c === 0x7d || c === 0x5d) this.#depth--;
      } else if (c === 0x2c || c === 0x7d) {
        this.#keep(bytes.subarray(0, at));
        this.#endField();
        return { consumed: at, next: 'again' };
      }
    }
    this.#keep(bytes);
    return { consumed: bytes.length, next: 'more' };
  }

  /** The quote that ends the string, or the last byte. */
  #stringEnd(bytes: Uint8Array, from: number): number {
    for (let at = this.#escaped ? from + 1 : from; ; at++) {
      const quote = bytes.indexOf(QUOTE, at);
      const end = quote < 0 ? bytes.length : quote;
      let slashes = 0;
      while (end - slashes > at && bytes[end - slashes - 1] === BACKSLASH) slashes++;
      this.#escaped = slashes % 2 === 1;
      if (quote < 0) return end - 1;
      at = quote;
      if (this.#escaped) continue;
      this.#inString = false;
      return quote;
    }
  }

  #keep(bytes: Uint8Array): void {
    const room = Math.min(bytes.length, this.#limit - this.#kept);
    if (room > 0) this.#pieces.push(bytes.slice(0, room));
    this.#kept += bytes.length;
  }

  get #limit(): number {
    return LARGE_FIELDS.includes(this.#key) ? MAX_LARGE_FIELD : MAX_FIELD;
  }

  #endField(): void {
    this.#state = 'member';
    if (this.#isTooMany()) return this.#problems.add('too-many-fields', TOO_MANY);
    const text = Buffer.concat(this.#pieces).toString('utf8').trim();
    this.#pieces = [];
    // The last of several fields with one name counts, as in JSON.parse.
    if (!READ_FIELDS.has(this.#key)) this.#total += this.#key.length + text.length;
    this.fields.set(this.#key, text);
    const limit = this.#limit;
    if (this.#kept <= limit && parseJson(text) === undefined)
      this.#problems.add('malformed-header', MALFORMED);
    if (this.#kept > limit) {
      const message = `the field ${JSON.stringify(this.#key.slice(0, 100))} is above ${limit >> 10} KiB`;
      this.#problems.add('long-field', { message, consequence: 'cut' });
    }
  }

  #isTooMany(): boolean {
    const size = Math.min(this.#kept, this.#limit);
    const isFull = this.fields.size >= MAX_FIELDS || this.#total + size > MAX_FIELD_BYTES;
    return isFull && !READ_FIELDS.has(this.#key);
  }

  /** A key with its colon and spaces must fit in a few KiB, or the buffer would grow with the file. */
  #needMore(length: number, at: number, offset: number): HeaderStep {
    return length - at > MAX_KEY ? this.#giveUp(at, offset) : { consumed: at, next: 'more' };
  }

  #giveUp(at: number, offset: number): HeaderStep {
    this.#problems.add('malformed-header', MALFORMED, { unit: 'byte', at: offset + at });
    this.#state = 'seek';
    return { consumed: at, next: 'again' };
  }

  #seekEvents(bytes: Uint8Array): HeaderStep {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = text.indexOf(`"${EVENTS_KEY}"`); at >= 0; at = text.indexOf(`"${EVENTS_KEY}"`, at + 1)) {
      const m = /^"traceEvents"\s*:\s*\[/.exec(text.toString('latin1', at, at + 256));
      if (m) {
        this.#state = 'member';
        return { consumed: at + m[0].length, next: 'events' };
      }
      if (text.length - at < 256) return { consumed: at, next: 'more' };
    }
    return { consumed: Math.max(0, bytes.length - EVENTS_KEY.length - 2), next: 'more' };
  }
}

const TOO_MANY = {
  message: `more than ${MAX_FIELDS} fields or 1 MiB of them outside the events`,
  consequence: 'further ones are left out, except for those that say where the trace was recorded',
};

const MALFORMED = {
  message: 'the part outside the events is not valid JSON',
  consequence: 'device, rank or process groups may be unknown',
};

function stringEnd(bytes: Uint8Array, from: number): number {
  for (let at = from; at < bytes.length; at++) {
    if (bytes[at] === BACKSLASH) at++;
    else if (bytes[at] === QUOTE) return at;
  }
  return -1;
}

function decodeKey(token: Uint8Array): string {
  const text = Buffer.from(token).toString('utf8');
  return (parseJson(text) as string | undefined) ?? text.slice(1, -1);
}
