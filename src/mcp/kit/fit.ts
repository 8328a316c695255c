import { printable } from '../../base/printable.js';

/**
 * JSON has about this many bytes for a token: measured over answers on the zoo with the tokenizers of three models, the
 * densest one. Text in other scripts has more bytes for a character, so bytes bound both.
 */
const BYTES_PER_TOKEN = 2.9;

export const bytesFor = (tokens: number): number => Math.floor(tokens * BYTES_PER_TOKEN);
export const sizeOf = (text: string): number => Buffer.byteLength(text);

/** What is kept at each attempt: items of a list, and characters of a text. The first that fits is taken. */
const ATTEMPTS: readonly (readonly [items: number, characters: number])[] = [
  [Number.POSITIVE_INFINITY, 2000],
  [50, 800],
  [20, 600],
  [12, 400],
  [8, 300],
  [5, 240],
  [3, 200],
  [2, 160],
  [1, 120],
  [0, 80],
];

/** A list that was shortened. */
interface Cut {
  /** `findings`, `ranks.0.time`. */
  readonly path: string;
  readonly shown: number;
  readonly of: number;
}

export interface Fitted {
  readonly value: Record<string, unknown>;
  /** Empty: nothing is missing. */
  readonly cut: readonly Cut[];
}

/** Shortens lists and texts of a report until it has at most this many bytes as JSON. */
export function fitInto(report: object, bytes: number): Fitted {
  for (const [items, characters] of ATTEMPTS) {
    const cut: Cut[] = [];
    const value = shortened(report, items, characters, '', cut) as Record<string, unknown>;
    const fitted = { value, cut: cut.slice(0, MOST_CUTS) };
    if (sizeOf(JSON.stringify(fitted)) <= bytes) return fitted;
  }
  const names = Object.keys(report);
  return { value: {}, cut: [{ path: '', shown: 0, of: names.length }] };
}

/** What is cut inside cut lists is not worth a line. */
const MOST_CUTS = 12;

function shortened(value: unknown, items: number, characters: number, path: string, cut: Cut[]): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'string')
    return printable(value.length > characters ? `${value.slice(0, characters - 1)}…` : value);
  if (typeof value !== 'object' || value === null) return value;
  const below = (key: string) => (path === '' ? key : `${path}.${key}`);
  if (Array.isArray(value)) {
    if (value.length > items) cut.push({ path, shown: items, of: value.length });
    return value.slice(0, items).map((item, i) => shortened(item, items, characters, below(String(i)), cut));
  }
  const entries = Object.entries(value);
  // A map with an entry for each name is a list, too.
  const most = Math.max(items, LEAST_FIELDS);
  if (entries.length > most) cut.push({ path, shown: most, of: entries.length });
  return Object.fromEntries(
    entries
      .slice(0, most)
      .map(([key, item]) => [
        key.slice(0, characters),
        shortened(item, items, characters, below(key.slice(0, 40)), cut),
      ]),
  );
}

/** Records of a report have fewer fields. */
const LEAST_FIELDS = 40;
