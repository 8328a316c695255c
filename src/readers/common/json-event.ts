import { type JsonObject, parseJson } from './json-object.js';

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
