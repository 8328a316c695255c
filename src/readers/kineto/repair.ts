/**
 * Repairs the text of one event that is not JSON: unescaped quotes, missing or invalid values, a missing bracket. Slow and
 * rare. The result goes through the scanner like any other event, so the meaning of events is defined once.
 */
import { latin1 } from '../common/text.js';

/** The start of an event: an opening brace and a known key. */
const EVENT_START = String.raw`\{\s*"(?:ph|cat|name|pid|tid|ts|dur|args|id|bp|s)"\s*:`;
const NEXT_EVENT = new RegExp(String.raw`\}\s*(?:,\s*)?(?=${EVENT_START})`, 'g');
const ANY_EVENT = new RegExp(EVENT_START, 'g');
/** The end of traceEvents: its bracket, then another key of the document, the end of the document or of the file. */
const ARRAY_END = /\}\s*(?=\]\s*(?:,\s*"[^"]*"\s*:|\}|$))/g;

/** An event that has no end within this many bytes is given up. */
export const MAX_BROKEN_EVENT = 1 << 20;

export type Extent =
  | { readonly kind: 'found'; readonly length: number }
  | { readonly kind: 'need-more' }
  /** No event starts in these bytes. */
  | { readonly kind: 'lost' };

/** How long the broken event at the start of `bytes` is. `final`: nothing comes after these bytes. */
export function brokenEventExtent(bytes: Uint8Array, final: boolean): Extent {
  return search(bytes, final, (text, whole) => {
    const next = firstMatchEnd(NEXT_EVENT, text, 1, (m) => m.index + 1);
    if (next !== null) return next;
    return whole ? firstMatchEnd(ARRAY_END, text, 1, (m) => m.index + 1) : null;
  });
}

/** How much garbage there is at the start of `bytes`, up to the next event or the end of the array. */
export function garbageExtent(bytes: Uint8Array, final: boolean): Extent {
  return search(bytes, final, (text, whole) => {
    const next = firstMatchEnd(ANY_EVENT, text, 1, (m) => m.index);
    if (next !== null) return next;
    return whole ? firstMatchEnd(/\]\s*(?:,\s*"[^"]*"\s*:|\}|$)/g, text, 0, (m) => m.index) : null;
  });
}

/** Searches in growing windows, so that a file full of broken events does not take quadratic time. */
function search(
  bytes: Uint8Array,
  final: boolean,
  find: (text: string, whole: boolean) => number | null,
): Extent {
  for (let window = 4096; ; window *= 4) {
    const size = Math.min(window, bytes.length, MAX_BROKEN_EVENT);
    const atLimit = size === MAX_BROKEN_EVENT;
    const atEnd = size === bytes.length;
    const length = find(latin1(bytes.subarray(0, size)), atLimit || (atEnd && final));
    if (length !== null) return { kind: 'found', length };
    if (atLimit) return { kind: 'lost' };
    if (atEnd) return final ? { kind: 'lost' } : { kind: 'need-more' };
  }
}

function firstMatchEnd(
  pattern: RegExp,
  text: string,
  from: number,
  end: (m: RegExpExecArray) => number,
): number | null {
  pattern.lastIndex = from;
  const m = pattern.exec(text);
  return m && end(m);
}

interface Repaired {
  /** One object in JSON, or close to it. */
  readonly text: Uint8Array;
  /** How much of the input it covers; the rest may hold more events. */
  readonly length: number;
}

/** Repairs the object at the start of `bytes`. */
export function repairEvent(bytes: Uint8Array): Repaired {
  const repairer = new Repairer(latin1(bytes));
  return { text: Buffer.from(repairer.run(), 'latin1'), length: repairer.length };
}

const SCALAR = /[^\s,}\]]+/y;
const GOOD_SCALAR = /^(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|-?(?:NaN|nan|Infinity|inf))$/;
const MEMBER_AHEAD = /\s*,\s*"(?:[^"\\]|\\[\s\S])*"\s*:/y;
const ELEMENT_AHEAD = /\s*,\s*(?:["[{\-\d]|true|false|null|NaN|Infinity|inf|nan)/y;
const CLOSE_AHEAD = /\s*[}\]]/y;
const COLON_AHEAD = /\s*:/y;
const SPACE = /\s*/y;
/** The content of a string up to a quote or an escape. */
const PLAIN = /[^"\\]+/y;

class Repairer {
  readonly #text: string;
  #at = 0;
  #out = '';
  /** The last character written that is not a space. */
  #last = '';
  /** Open brackets, innermost last. */
  readonly #open: string[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  get length(): number {
    return this.#at;
  }

  run(): string {
    do this.#step();
    while (this.#open.length > 0 && this.#at < this.#text.length);
    while (this.#open.length) this.#out += this.#open.pop() === '{' ? '}' : ']';
    return this.#out;
  }

  #step(): void {
    const c = this.#text[this.#at]!;
    if (c === '"') return this.#string();
    if (c === '{' || c === '[') this.#open.push(c);
    else if (c === '}' || c === ']') this.#open.pop();
    else if (c === ':') {
      this.#take(1);
      this.#take(this.#ahead(SPACE));
      if (/[,}\]]/.test(this.#text[this.#at] ?? ',')) this.#out += 'null';
      return;
    } else if (!/[\s,]/.test(c)) return this.#scalar();
    this.#take(1);
  }

  #take(length: number): void {
    const piece = this.#text.slice(this.#at, this.#at + length);
    this.#out += piece;
    if (piece.trim() !== '') this.#last = piece.trimEnd().at(-1)!;
    this.#at += length;
  }

  /** Length of the match of a sticky pattern here. */
  #ahead(pattern: RegExp): number {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#text)![0].length;
  }

  #scalar(): void {
    const token = this.#text.slice(this.#at, this.#at + this.#ahead(SCALAR));
    this.#last = token.at(-1)!;
    this.#out += GOOD_SCALAR.test(token) ? token : JSON.stringify(token);
    this.#at += token.length;
  }

  /** Copies a string. A quote ends it only where JSON could go on after it; other quotes are escaped. */
  #string(): void {
    const isKey = this.#open.at(-1) === '{' && (this.#last === '{' || this.#last === ',');
    this.#take(1);
    while (this.#at < this.#text.length) {
      const c = this.#text[this.#at]!;
      if (c === '\\') this.#take(2);
      else if (c !== '"') this.#take(this.#ahead(PLAIN));
      else if (this.#closesHere(isKey)) return this.#take(1);
      else {
        this.#out += '\\"';
        this.#at++;
      }
    }
    this.#out += '"';
  }

  #closesHere(isKey: boolean): boolean {
    const after = this.#at + 1;
    if (after >= this.#text.length) return true;
    if (isKey) return matches(COLON_AHEAD, this.#text, after);
    if (matches(CLOSE_AHEAD, this.#text, after)) return true;
    return matches(this.#open.at(-1) === '[' ? ELEMENT_AHEAD : MEMBER_AHEAD, this.#text, after);
  }
}

function matches(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at;
  return pattern.test(text);
}
