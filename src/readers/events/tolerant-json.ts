import type { JsonObject } from './event-record.js';

const TOKENS = ['NaN', 'Infinity'];
/** Where a record or header begins; inside a JSON text its quotes would be escaped. */
const OBJECT_START = /(?=\{\s*"(?:name|whyslow)")/;
const MAX_PIECES = 16;

/** A JSON object, also with the bare NaN and Infinity that Python writes (read as Infinity); null for all else. */
export function parseObject(text: string): JsonObject | null {
  return asObject(parse(text) ?? (TOKENS.some((t) => text.includes(t)) ? parse(withoutTokens(text)) : null));
}

/**
 * The whole objects in a line that is not one: a process died in the middle of a record and the next one appended
 * right behind it, or two wrote at once.
 */
export function salvageObjects(text: string): readonly JsonObject[] {
  const pieces = text.split(OBJECT_START, MAX_PIECES);
  return pieces.length < 2 ? [] : pieces.map(parseObject).filter((object) => object !== null);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function asObject(value: unknown): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}

/** Writes the tokens outside of quotes as 1e999, which JSON.parse reads as Infinity. */
function withoutTokens(text: string): string {
  let out = '';
  let kept = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '"') quoted = !quoted;
    else if (quoted) i += c === '\\' ? 1 : 0;
    else {
      const token = TOKENS.find((t) => text.startsWith(t, i));
      if (token === undefined) continue;
      out += `${text.slice(kept, i)}1e999`;
      i += token.length - 1;
      kept = i + 1;
    }
  }
  return out + text.slice(kept);
}
