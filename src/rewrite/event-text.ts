/** Where the value of a top-level key stands in the text of an event. */
export interface Place {
  readonly start: number;
  readonly end: number;
}

const SPACE = /[\s,]*/y;
const STRING = /"[^"\\]*(?:\\[\s\S][^"\\]*)*"/y;
const SCALAR = /[^\s,}\]]+/y;
/** Inside a value: up to the next text or bracket. */
const BETWEEN = /[^"{}[\]]*/y;

/** The top-level keys of one JSON object, which must be valid. Numbers keep all their digits this way. */
export function placesOf(text: string): ReadonlyMap<string, Place> {
  const places = new Map<string, Place>();
  let at = text.indexOf('{') + 1;
  for (;;) {
    at = after(SPACE, text, at);
    if (text[at] !== '"') return places;
    const keyEnd = after(STRING, text, at);
    const key = text.slice(at + 1, keyEnd - 1);
    const start = after(SPACE, text, text.indexOf(':', keyEnd) + 1);
    at = valueEnd(text, start);
    places.set(key, { start, end: at });
  }
}

function valueEnd(text: string, start: number): number {
  if (text[start] === '"') return after(STRING, text, start);
  if (text[start] !== '{' && text[start] !== '[') return after(SCALAR, text, start);
  let depth = 0;
  for (let at = start; ; ) {
    at = after(BETWEEN, text, at);
    const c = text[at];
    if (c === undefined) return at;
    if (c === '"') at = after(STRING, text, at);
    else {
      depth += c === '{' || c === '[' ? 1 : -1;
      at++;
      if (depth === 0) return at;
    }
  }
}

function after(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return at + (pattern.exec(text)?.[0].length ?? 0);
}

/** The text with other values for some of its top-level keys. Keys that it lacks are not added. */
export function withValues(
  text: string,
  places: ReadonlyMap<string, Place>,
  values: Readonly<Record<string, string | null>>,
): string {
  const changes = Object.entries(values)
    .flatMap(([key, value]) => {
      const place = places.get(key);
      return place && value !== null ? [{ ...place, value }] : [];
    })
    .sort((a, b) => a.start - b.start);
  let out = '';
  let from = 0;
  for (const { start, end, value } of changes) {
    out += text.slice(from, start) + value;
    from = end;
  }
  return out + text.slice(from);
}

/** JSON text without characters above 0x7e, so that it is the same in every encoding. They stand only in texts. */
export const asAscii = (json: string): string =>
  json.replace(/[\x7f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

export const asciiJson = (value: unknown): string => asAscii(JSON.stringify(value));

/** JSON with a character for each byte of UTF-8. For names: Perfetto shows `\u00b7` as it is written. */
export const utf8Json = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('latin1');

const NUMBER_AHEAD = /\s*:\s*("?-?[\d.]+(?:[eE][+-]?\d+)?"?)/y;

/** The time of an event as it is written. Null: it has none. Quick, because it is asked of every event. */
export function timeToken(text: string, parsed: unknown): string | null {
  NUMBER_AHEAD.lastIndex = text.indexOf('"ts"') + 4;
  const token = NUMBER_AHEAD.exec(text)?.[1];
  // Arguments may have a `ts` of their own.
  if (token !== undefined && Number(token.replaceAll('"', '')) === numberOf(parsed)) return token;
  const place = placesOf(text).get('ts');
  return place ? text.slice(place.start, place.end) : null;
}

const DECIMAL = /^"?(-?)(\d{1,16})(?:\.(\d+))?"?$/;

/** Times of a trace in ns from its base: exact, while a double cannot hold µs since 1970 to the ns. */
export class TraceTimes {
  readonly #baseUs: number;
  readonly #rest: number;

  constructor(baseNs: bigint) {
    this.#baseUs = Number(baseNs / 1000n);
    this.#rest = Number(baseNs % 1000n);
  }

  /** `token`: µs as written. NaN: no number, or one that no clock shows. */
  fromBase(token: string): number {
    const time = this.#fromBase(token);
    return Number.isSafeInteger(time) ? time : Number.NaN;
  }

  #fromBase(token: string): number {
    const [, sign, whole, fraction = ''] = DECIMAL.exec(token) ?? [];
    if (whole === undefined || !Number.isSafeInteger(Number(whole)))
      return Math.round((Number(token) - this.#baseUs) * 1000) - this.#rest;
    const ns = Math.round(Number(`${fraction.padEnd(3, '0').slice(0, 3)}.${fraction.slice(3)}0`));
    const factor = sign === '-' ? -1 : 1;
    return (factor * Number(whole) - this.#baseUs) * 1000 + factor * ns - this.#rest;
  }
}

/** A value of an event as text; empty for what is neither a text nor a number. An object may say how it becomes a text. */
export const wordOf = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';

/** The same as a number. */
export const numberOf = (value: unknown): number => {
  const word = wordOf(value);
  return word === '' ? Number.NaN : Number(word);
};

/** ns of a duration as written in µs; 0 where there is none that makes sense. */
export const durationNs = (value: unknown): number => {
  const ns = Math.round(numberOf(value) * 1000);
  return ns > 0 && Number.isSafeInteger(ns) ? ns : 0;
};

/** ns as µs with all digits. */
export const microseconds = (ns: number): string => {
  const whole = Math.trunc(Math.abs(ns) / 1000);
  const rest = Math.abs(ns) % 1000;
  return `${ns < 0 ? '-' : ''}${whole}.${String(rest).padStart(3, '0')}`;
};
