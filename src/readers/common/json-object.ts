/** Strings; NaN and infinities, which JSON does not have; integers above 2^53, which stay text. */
const NOT_PLAIN_JSON =
  /"(?:[^"\\]|\\[\s\S])*"|-?\b(?:NaN|Infinity|inf|nan)\b|(?<![\d.])-?\d{16,}(?![\d.eE])/g;

/** One event; integers above 2^53 stay text. Undefined: it is not JSON. */
export function parseEvent(bytes: Uint8Array): JsonObject | undefined {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const json = text.replace(NOT_PLAIN_JSON, (t) => {
    if (t[0] === '"')
      return t.replace(/[\u0000-\u001f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
    return /\d/.test(t) ? (Number.isSafeInteger(Number(t)) ? t : `"${t}"`) : 'null';
  });
  return parseJson(json) as JsonObject | undefined;
}

export type JsonObject = Readonly<Record<string, unknown>>;

const TOKENS = ['NaN', 'Infinity'];

/** A JSON object, also with the bare NaN and Infinity that Python writes (both read as Infinity); null for anything else. */
export function parseObject(text: string): JsonObject | null {
  const value = parseJson(text);
  if (value !== undefined || !TOKENS.some((t) => text.includes(t))) return asObject(value);
  return asObject(parseJson(withoutTokens(text)));
}

/** In shorter texts there is no room for more values. */
const LARGE = 1 << 20;
/** Of `costOf`: about 300 MB. A flight-recorder dump of 65,000 calls with stacks is below it. */
const MOST = 24e6;

/** What the values of a text take in memory: an empty list or object takes 20 to 100 times its two characters. */
function costOf(text: string): number {
  let cost = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === COMMA || c === QUOTE) cost++;
    else if (c === OPEN_LIST) cost += 6;
    else if (c === OPEN_OBJECT) cost += 8;
  }
  return cost;
}
const [QUOTE, COMMA, OPEN_LIST, OPEN_OBJECT] = [0x22, 0x2c, 0x5b, 0x7b];

/** Undefined: the text is not JSON, or has more values than there should be memory for. */
export function parseJson(text: string): unknown {
  if (text.length > LARGE && costOf(text) > MOST) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function asObject(value: unknown): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}

/** Replaces the tokens outside strings with 1e999, which JSON.parse reads as Infinity. */
function withoutTokens(text: string): string {
  return text.replace(/"[^"\\]*(?:\\[\s\S][^"\\]*)*"|NaN|Infinity/g, (part) =>
    part[0] === '"' ? part : '1e999',
  );
}
