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
