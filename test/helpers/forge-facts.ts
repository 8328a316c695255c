import { gunzipSync, gzipSync } from 'node:zlib';

interface Head {
  readonly parts: readonly number[];
}
/** A part of a facts file: JSON, then columns. */
export interface Part {
  readonly json: {
    data: unknown;
    columns: [type: string, encoding: string, length: number, bytes: number][];
  };
  bytes: Buffer;
}

/** Changes a facts file as somebody could who knows its format: lengths stay right, so that it is read. */
export function forgeFacts(stored: Uint8Array, change: (parts: readonly Part[]) => void): Buffer {
  const file = gunzipSync(stored);
  const end = file.indexOf(10);
  const head: Head = JSON.parse(file.toString('utf8', 0, end));
  let at = end + 1;
  const parts = head.parts.map((size): Part => {
    const part = file.subarray(at, at + size);
    at += size;
    const line = part.indexOf(10);
    return { json: JSON.parse(part.toString('utf8', 0, line)), bytes: part.subarray(line + 1) };
  });
  change(parts);
  const written = parts.map(({ json, bytes }) =>
    Buffer.concat([Buffer.from(`${JSON.stringify(json)}\n`), bytes]),
  );
  const first = JSON.stringify({ ...head, parts: written.map((p) => p.length) });
  return gzipSync(Buffer.concat([Buffer.from(`${first}\n`), ...written]), { level: 1 });
}

/** Where there is a value that is no object: `facts.steps.periods.0`. */
export function placesIn(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([key, item]) => placesIn(item, [...path, key]));
}

type Fields = Record<string, unknown>;

export const getAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce((at, key) => (at as Fields)[key], value);

export function setAt(value: unknown, path: readonly string[], wrong: unknown): void {
  (getAt(value, path.slice(0, -1)) as Fields)[path.at(-1)!] = structuredClone(wrong);
}

/** What a number, a text or a flag may be replaced with. */
export const HOSTILE: readonly unknown[] = [
  'Infinity',
  'NaN',
  -1,
  -1e9,
  0,
  0.5,
  1e10,
  2 ** 31,
  2 ** 53,
  1e300,
  null,
  true,
  [],
  {},
  '',
  'x'.repeat(70_000),
  '\u202e\x1b[2J',
  Array.from({ length: 1000 }, () => 1),
];
