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

/** Undefined where the text is not JSON. */
export function parseJson(text: string): unknown {
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
