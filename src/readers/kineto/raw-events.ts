import { isUtf8 } from 'node:buffer';
import { type Problem, ProblemLog } from '../../base/problem.js';
import { asObject, type JsonObject, parseJson } from '../common/json-object.js';
import { latin1 } from '../common/text.js';
import type { Batch, ScannerTables } from '../common/trace-rows/batch.js';
import { TraceDocument } from './document.js';
import { NEED_MORE, nestedEnd, SENTINEL, SENTINELS, skipSpace } from './json-text.js';
import { PlainScanner } from './plain-scanner.js';
import { type EventScanner, SCAN } from './scanner.js';

/** One event of a trace as it is written. */
export interface RawEvent {
  /** Valid JSON. Each character is a byte of UTF-8. */
  readonly text: string;
  /** The same, parsed: for numbers and ASCII texts. */
  readonly value: JsonObject;
}

/**
 * The events of a trace one by one, as text, for programs that write traces. Finds and repairs events as the reader does,
 * and holds one chunk at a time. What cannot be made valid JSON is left out and counted.
 */
export class RawEventReader {
  readonly #problems = new ProblemLog();
  readonly #scanner: RawScanner;
  readonly #document: TraceDocument;

  constructor(onEvent: (event: RawEvent) => void) {
    this.#scanner = new RawScanner(onEvent);
    this.#document = new TraceDocument(this.#scanner, () => {}, this.#problems);
  }

  push(chunk: Uint8Array): void {
    this.#document.push(chunk);
  }

  /** The fields around the events, as JSON text in UTF-16. */
  finish(): { readonly fields: ReadonlyMap<string, string>; readonly problems: readonly Problem[] } {
    this.#scanner.isAtEnd = true;
    const fields = this.#document.finish();
    return { fields, problems: this.#problems.list() };
  }
}

const OPEN = 0x7b;
const COMMA = 0x2c;
const ARRAY_CLOSE = 0x5d;
/** More than this without an end may be a quote that is not escaped. */
const LONG_EVENT = 64 << 10;

class RawScanner implements EventScanner {
  readonly #onEvent: (event: RawEvent) => void;
  readonly #empty: Batch = new PlainScanner().finishBatch();
  #memory = new Uint8Array(SENTINELS);
  buffer: Uint8Array = this.#memory.subarray(0, 0);
  position = 0;
  /** Nothing comes after what is in the buffer. */
  isAtEnd = false;

  constructor(onEvent: (event: RawEvent) => void) {
    this.#onEvent = onEvent;
  }

  reserve(bytes: number, keep: number): void {
    if (bytes <= this.buffer.length) return;
    const memory = new Uint8Array(bytes + SENTINELS);
    memory.set(this.#memory.subarray(0, keep));
    this.#memory = memory;
    this.buffer = memory.subarray(0, bytes);
  }

  scan(from: number, to: number): number {
    const b = this.#memory;
    b.fill(SENTINEL, to, to + SENTINELS);
    for (let p = from; ; ) {
      p = skipSpace(b, p);
      this.position = p;
      if (p >= to) return SCAN.needMore;
      if (b[p] === COMMA) p++;
      else if (b[p] !== OPEN) return b[p] === ARRAY_CLOSE ? SCAN.arrayEnd : SCAN.malformed;
      else {
        const end = nestedEnd(b, p, to);
        if (end === NEED_MORE) return this.#isBroken(b.subarray(p, to)) ? SCAN.malformed : SCAN.needMore;
        if (!this.#emit(b.subarray(p, end))) return SCAN.malformed;
        p = end;
      }
    }
  }

  /** Whether a quote in it is not escaped: another event begins inside what should be one, or the end of the document. */
  #isBroken(bytes: Uint8Array): boolean {
    if (bytes.length < LONG_EVENT && !this.isAtEnd) return false;
    const text = latin1(bytes.subarray(0, LONG_EVENT * 4));
    for (const { index } of text.matchAll(/\}\s*,\s*(?=\{\s*"(?:ph|cat|name|pid|tid|ts)"\s*:)/g)) {
      const open = text.indexOf('{', index);
      const close = nestedEnd(bytes, open, bytes.length);
      const value = close === NEED_MORE ? null : asObject(parseJson(latin1(bytes, open, close)));
      if (value && typeof value.ph === 'string') return true;
    }
    // An event that is only cut has no end of a document in it.
    return this.isAtEnd && endsInText(text) && /\}\s*\]\s*(?:,\s*"[^"]*"\s*:[\s\S]*)?\}?\s*$/.test(text);
  }

  scanRepaired(text: Uint8Array): boolean {
    return this.#emit(text);
  }

  #emit(bytes: Uint8Array): boolean {
    const text = isUtf8(bytes) ? latin1(bytes) : latin1(Buffer.from(Buffer.from(bytes).toString('utf8')));
    const value = asObject(parseJson(text));
    if (value) {
      this.#onEvent({ text, value });
      return true;
    }
    const fixed = mendTokens(text);
    const repaired = asObject(parseJson(fixed));
    if (repaired) this.#onEvent({ text: fixed, value: repaired });
    return repaired !== null;
  }

  finishBatch(): Batch {
    return this.#empty;
  }

  startBatch(): void {}

  finish(): ScannerTables {
    throw new Error('raw events have no tables');
  }
}

/** A text, a comma before a closing bracket, or anything else that is a value. */
const TOKEN = /"[^"\\]*(?:\\[\s\S][^"\\]*)*"|,(?=\s*[}\]])|[^\s,:{}[\]"]+/g;
const GOOD_SCALAR = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/;
const NUMBER = /^([+-]?)0*(\d*)\.?(\d*)((?:[eE][+-]?\d+)?)$/;

/** What our reader takes and JSON does not: NaN, 007, a comma too many, control characters, escapes as in C:\Users. */
function mendTokens(text: string): string {
  return text.replace(TOKEN, (token) => {
    if (token === ',') return '';
    if (token[0] === '"') return mendString(token);
    if (GOOD_SCALAR.test(token)) return token;
    const [, sign = '', whole = '', fraction = '', exponent = ''] = NUMBER.exec(token) ?? [];
    if (!/\d/.test(token) || !NUMBER.test(token)) return 'null';
    return `${sign === '-' ? '-' : ''}${whole || '0'}${fraction && `.${fraction}`}${exponent}`;
  });
}

function mendString(token: string): string {
  const inner = token
    .slice(1, -1)
    .replace(/\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})/g, (slash, at: number, all: string) =>
      isEscaped(all, at) ? slash : '\\\\',
    )
    .replace(/[\x00-\x1f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return `"${inner}"`;
}

const endsInText = (text: string): boolean =>
  text.replace(/"[^"\\]*(?:\\[\s\S][^"\\]*)*"/g, '').includes('"');

/** Whether an odd number of backslashes stands before this position. */
function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text[before - 1] === '\\') before--;
  return (at - before) % 2 === 1;
}
