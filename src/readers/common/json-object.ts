export type JsonObject = Readonly<Record<string, unknown>>;

const TOKENS = ['NaN', 'Infinity'];

/** A JSON object, also with the bare NaN and Infinity that Python writes (read as Infinity); null for all else. */
export function parseObject(text: string): JsonObject | null {
  return asObject(parse(text) ?? (TOKENS.some((t) => text.includes(t)) ? parse(withoutTokens(text)) : null));
}

export function asObject(value: unknown): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
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
