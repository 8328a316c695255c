import { printable } from '../../base/printable.js';

/**
 * What a model is likely to count, rather more than less. Fitted on 220 answers of all tools over the zoo to o200k_base and cl100k_base:
 * no answer has more tokens than this, and half of them have at least 85% of it. A digit costs more than a letter, and any
 * other script at most what a byte may.
 */
export function tokensOf(text: string): number {
  let tokens = 0;
  let kind = 0;
  let run = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const now = kindOf(code);
    run = now === kind ? run + 1 : 0;
    kind = now;
    if (now === LETTER) tokens += run === 0 ? 0.47 : 0.12;
    else if (now === OTHER_SCRIPT) tokens += 1.2;
    else if (run % 3 === 0) tokens += now === DIGIT ? 1.9 : 0.95;
  }
  return tokens;
}

const [LETTER, DIGIT, SIGN, OTHER_SCRIPT] = [1, 2, 3, 4] as const;

function kindOf(code: number): number {
  if ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a) return LETTER;
  if (code >= 0x30 && code <= 0x39) return DIGIT;
  return code < 0x80 ? SIGN : OTHER_SCRIPT;
}

/** Line breaks stay: code has them, and JSON spells them out. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n');

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

/** Shortens lists and texts of a report until it has at most this many tokens as JSON. */
export function fitInto(report: object, tokens: number): Fitted {
  for (const [items, characters] of ATTEMPTS) {
    const cut: Cut[] = [];
    const value = shortened(report, items, characters, '', cut) as Record<string, unknown>;
    const fitted = { value, cut: cut.slice(0, MOST_CUTS) };
    const json = JSON.stringify(fitted);
    if (json.length <= MOST_PER_TOKEN * tokens && tokensOf(json) <= tokens) return fitted;
  }
  const names = Object.keys(report);
  return { value: {}, cut: [{ path: '', shown: 0, of: names.length }] };
}

/** No answer has so many characters for a token: a large one need not be counted. */
const MOST_PER_TOKEN = 8;
/** What is cut inside cut lists is not worth a line. */
const MOST_CUTS = 12;

function shortened(value: unknown, items: number, characters: number, path: string, cut: Cut[]): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'string')
    return printableLines(value.length > characters ? `${value.slice(0, characters - 1)}…` : value);
  if (typeof value !== 'object' || value === null) return value;
  const below = (key: string) => (path === '' ? key : `${path}.${key}`).slice(-MOST_PATH);
  if (Array.isArray(value)) {
    if (value.length > items) cut.push({ path, shown: items, of: value.length });
    return value.slice(0, items).map((item, i) => shortened(item, items, characters, below(String(i)), cut));
  }
  const entries = Object.entries(value);
  // A map with an entry for each name is a list, too.
  const most = Math.max(items, LEAST_FIELDS);
  if (entries.length > most) cut.push({ path, shown: most, of: entries.length });
  return Object.fromEntries(
    entries.slice(0, most).map(([key, item]) => {
      const name = printable(key.slice(0, characters));
      return [name, shortened(item, items, characters, below(name.slice(0, 40)), cut)];
    }),
  );
}

const MOST_PATH = 200;

/** Records of a report have fewer fields. */
const LEAST_FIELDS = 40;
