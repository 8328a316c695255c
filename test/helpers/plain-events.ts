/**
 * The reference for the scanners: reads a whole trace with JSON.parse and says what the rows should be. Slow and simple. It
 * shares only the schema with the scanners.
 */
import { isDeepStrictEqual } from 'node:util';
import { COUNTER } from '../../src/readers/common/trace-rows/counters.js';
import { ARG_KEYS, OPS, SIDE_TABLES } from '../../src/readers/common/trace-rows/schema.js';

/** A number as written, because a double would lose digits. Also NaN and infinities. */
export class NumberText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}
export type Plain = null | boolean | string | NumberText | readonly Plain[] | PlainObject;
export interface PlainObject {
  readonly [key: string]: Plain;
}
/** A number is a bigint where a double would round it. */
export type Decoded =
  | null
  | boolean
  | string
  | number
  | bigint
  | readonly Decoded[]
  | { readonly [key: string]: Decoded };

const STRING = /"(?:[^"\\]|\\[\s\S])*"/y;
const SCALAR = /[^\s,:"[\]{}]+/y;
const KEY_FOLLOWS = /\s*:/y;

/** One JSON value, where NaN, Infinity, inf, nan and control characters in strings are allowed. */
export function parsePlain(text: string): Plain {
  return JSON.parse(marked(text), (_, value) => {
    if (typeof value !== 'string') return value;
    return value[0] === '#' ? new NumberText(value.slice(1)) : value.slice(1);
  });
}

/** The text with every number as a string "#..." and every string value as "$...", so that none can pass for another. */
function marked(text: string): string {
  let out = '';
  for (let at = 0; at < text.length; ) {
    const token = tokenAt(STRING, text, at) ?? tokenAt(SCALAR, text, at) ?? text[at]!;
    at += token.length;
    if (token[0] === '"') {
      const body = token.replace(/[\u0000-\u001f]/g, escaped).slice(1, -1);
      out += tokenAt(KEY_FOLLOWS, text, at) === null ? `"$${body}"` : `"${body}"`;
    } else if (/^(?:[\s,:[\]{}]|true|false|null)$/.test(token)) out += token;
    else out += `"#${token}"`;
  }
  return out;
}

function tokenAt(pattern: RegExp, text: string, at: number): string | null {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? null;
}

function escaped(control: string): string {
  return `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

export function decoded(value: Plain): Decoded {
  if (value instanceof NumberText) return decodedNumber(value.text);
  if (Array.isArray(value)) return value.map(decoded);
  if (value === null || typeof value !== 'object') return value as Decoded;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, decoded(v)]));
}

function decodedNumber(text: string): number | bigint {
  const number = Number(text);
  return /^-?\d+$/.test(text) && !Number.isSafeInteger(number) ? BigInt(text) : number;
}

/** The events of a document: an object with traceEvents, or a bare array. */
export function plainEvents(text: string): PlainObject[] {
  const document = parsePlain(text);
  return (Array.isArray(document) ? document : (document as PlainObject).traceEvents) as PlainObject[];
}

export interface PlainRow {
  readonly phase: string;
  readonly category: Decoded | undefined;
  readonly name: Decoded | undefined;
  readonly pid: Decoded | undefined;
  readonly tid: Decoded | undefined;
  /** Absolute, but with the rounding of a double that counts from the base. */
  readonly tsNs: bigint | null;
  readonly durNs: number;
  /** What the 32-bit columns hold. */
  readonly external: number | null;
  readonly correlation: number | null;
  /** Field → the value that its column cannot hold. */
  readonly wide: Readonly<Record<string, Decoded>>;
  /** Table → column → value, null where there is none. */
  readonly side: Readonly<Record<string, Readonly<Record<string, Decoded>>>>;
}

export interface PlainTrace {
  readonly rows: readonly PlainRow[];
  /** By JSON of [phase, category]. */
  readonly kinds: Readonly<Record<string, { readonly events: number; readonly folded: number }>>;
  /** Flows bound to a row (its index) whose id is not that row's correlation anyway. */
  readonly flows: readonly { readonly row: number; readonly id: number; readonly kind: string }[];
  readonly baseNs: bigint;
  readonly counters: Readonly<Record<string, number>>;
}

export function kindKey(phase: string, category: Decoded | undefined): string {
  return JSON.stringify([phase, category ?? null]);
}

export function expectedRows(events: readonly PlainObject[]): PlainTrace {
  const expectation = new Expectation();
  for (const event of events) expectation.add(event);
  return expectation.finish();
}

const NONE: Plain | undefined = undefined;
const WIDE_SLOTS = 4;
const NON_FINITE = /^-?(?:NaN|nan|Infinity|inf)$/;

interface SideCell {
  readonly table: string;
  readonly column: string;
  readonly type: string;
}
const SIDE_CELLS = new Map(
  SIDE_TABLES.flatMap((t) =>
    Object.entries<string>(t.args).map(([key, column]): [string, SideCell] => {
      return [key, { table: t.name, column, type: (t.columns as Record<string, string>)[column]! }];
    }),
  ),
);
const emptyEntry = (table: string): Record<string, Decoded> =>
  Object.fromEntries(Object.keys(SIDE_TABLES.find((t) => t.name === table)!.columns).map((c) => [c, null]));

class Expectation {
  readonly #rows: (PlainRow & { exactNs: bigint | null })[] = [];
  readonly #kinds: Record<string, { events: number; folded: number }> = {};
  readonly #flows: { row: number; id: number; kind: string }[] = [];
  readonly #counters: Record<string, number> = Object.fromEntries(Object.keys(COUNTER).map((k) => [k, 0]));

  add(event: PlainObject): void {
    const fields = new EventFields(event, this.#counters);
    const { phase } = fields;
    if (phase === null) {
      this.#counters.noPhase!++;
      return;
    }
    const category = typeof event.cat === 'string' ? event.cat : undefined;
    const kind = kindKey(phase, category);
    this.#kinds[kind] ??= { events: 0, folded: 0 };
    this.#kinds[kind].events++;
    const tsNs = nsOf(event.ts);
    const { pid, tid, name } = event;
    const row = { phase, category, name: field(name), pid: field(pid), tid: field(tid) };
    const last = this.#rows.at(-1);
    const atLast =
      last &&
      tsNs !== null &&
      last.exactNs === tsNs &&
      isDeepStrictEqual(last.pid, row.pid) &&
      isDeepStrictEqual(last.tid, row.tid);
    if ('stf'.includes(phase) && atLast && fields.id !== null) {
      this.#kinds[kind].folded++;
      if (fields.id !== last.correlation)
        this.#flows.push({ row: this.#rows.length - 1, id: fields.id, kind });
      return;
    }
    const exactNs = phase === 'M' ? null : tsNs;
    if (phase !== 'M' && tsNs === null) this.#counters.noTimestamp!++;
    const durNs = nsOf(event.dur);
    if (phase === 'X' && durNs === null) this.#counters.noDuration!++;
    const correlation = fields.correlation ?? fields.id;
    const { external, wide, side } = fields;
    this.#rows.push({
      ...row,
      tsNs: null,
      exactNs,
      durNs: Number(durNs ?? 0n),
      external,
      correlation,
      wide,
      side,
    });
  }

  finish(): PlainTrace {
    const baseNs = this.#rows.find((r) => r.exactNs !== null && r.exactNs > 0n)?.exactNs ?? 0n;
    const rows = this.#rows.map(({ exactNs, ...row }) => {
      return { ...row, tsNs: exactNs === null ? null : baseNs + BigInt(Number(exactNs - baseNs)) };
    });
    return { rows, kinds: this.#kinds, flows: this.#flows, baseNs, counters: this.#counters };
  }
}

function field(value: Plain | undefined): Decoded | undefined {
  return value === NONE ? undefined : decoded(value as Plain);
}

/** Ids and arguments of one event, in the order of the text: only the first four that are too wide are kept. */
class EventFields {
  readonly phase: string | null;
  external: number | null = null;
  correlation: number | null = null;
  id: number | null = null;
  readonly wide: Record<string, Decoded> = {};
  readonly side: Record<string, Record<string, Decoded>> = {};
  readonly #counters: Record<string, number>;

  constructor(event: PlainObject, counters: Record<string, number>) {
    this.#counters = counters;
    const { ph } = event;
    this.phase = typeof ph === 'string' && Buffer.byteLength(ph) === 1 ? ph : null;
    for (const [key, value] of Object.entries(event)) {
      if (key === 'id') this.id = this.#narrowId('id', value);
      else if (key === 'args' && isObject(value)) this.#addArgs(value);
      else if (!['ph', 'cat', 'name', 'pid', 'tid'].includes(key)) this.#noteNonFinite(value);
    }
  }

  #addArgs(args: PlainObject): void {
    for (const [key, value] of Object.entries(args)) {
      const cell = SIDE_CELLS.get(key);
      if (ARG_KEYS[key] === OPS.external) this.external = this.#narrowId('external', value);
      else if (ARG_KEYS[key] === OPS.correlation) this.correlation = this.#narrowId('correlation', value);
      else if (cell) this.#addCell(cell, value);
      else this.#noteNonFinite(value);
    }
  }

  #addCell({ table, column, type }: SideCell, value: Plain): void {
    this.side[table] ??= emptyEntry(table);
    const entry = this.side[table];
    if (type === 'token') entry[column] = decoded(value);
    else if (type === 'f64') {
      this.#noteNonFinite(value);
      const isNumber = value instanceof NumberText && !NON_FINITE.test(value.text);
      entry[column] = isNumber ? Number(value.text) : null;
    } else {
      const number = type === 'u32' ? asU32(value) : asI32(value);
      if (number !== null) entry[column] = number;
      else if (!isNullOrNan(value)) {
        this.#noteNonFinite(value);
        this.#keepWide(`${table}.${column}`, value);
      }
    }
  }

  #narrowId(name: string, value: Plain): number | null {
    const id = asU32(value);
    if (id === null && !isNullOrNan(value)) this.#keepWide(name, value);
    return id;
  }

  #keepWide(name: string, value: Plain): void {
    if (Object.keys(this.wide).length === WIDE_SLOTS) this.#counters.wideLost!++;
    else this.wide[name] = decoded(value);
  }

  #noteNonFinite(value: Plain): void {
    if (value instanceof NumberText && NON_FINITE.test(value.text)) this.#counters.nonFinite!++;
  }
}

function isObject(value: Plain): value is PlainObject {
  return (
    value !== null && typeof value === 'object' && !Array.isArray(value) && !(value instanceof NumberText)
  );
}

/** Both scanners recognize null by its first letter. */
function isNullOrNan(value: Plain): boolean {
  return value === null || (value instanceof NumberText && value.text === 'nan');
}

function asU32(value: Plain): number | null {
  if (!(value instanceof NumberText && /^\d+$/.test(value.text))) return null;
  return Number(value.text) < 0xffffffff ? Number(value.text) : null;
}

function asI32(value: Plain): number | null {
  if (!(value instanceof NumberText && /^-?\d+$/.test(value.text))) return null;
  return Math.abs(Number(value.text)) < 2 ** 31 ? Number(value.text) | 0 : null;
}

/** Larger times in nanoseconds do not fit 63 bits. */
const MAX_NS = 9n * 10n ** 18n;

/** Microseconds to nanoseconds; half a nanosecond goes away from zero. Times may be in quotes. */
function nsOf(value: Plain | undefined): bigint | null {
  const text = value instanceof NumberText ? value.text : typeof value === 'string' ? value : '';
  const m = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  if (!m) return null;
  const [, sign, whole, fraction = '', exponent = '0'] = m;
  const digits = BigInt(whole + fraction);
  const power = 3 - fraction.length + Number(exponent);
  const ns = power >= 0 ? digits * 10n ** BigInt(power) : halfUp(digits, 10n ** BigInt(-power));
  if (ns > MAX_NS) return null;
  return sign ? -ns : ns;
}

function halfUp(n: bigint, divisor: bigint): bigint {
  return (2n * n + divisor) / (2n * divisor);
}
