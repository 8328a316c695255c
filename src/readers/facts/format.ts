import type { NumericArray } from '../../base/columns.js';
import { MAX_TEXT } from '../../base/shape.js';

/** The bytes of a facts file, not yet compressed: plain data in parts; a reader may skip the later ones. */
export function factsBytes(by: string, parts: readonly unknown[]): Buffer {
  const written = parts.map(partBytes);
  const head: FactsHead = { whyslow_facts: FACTS_FORMAT, by, parts: written.map((p) => p.length) };
  return Buffer.concat([jsonLine(head), ...written]);
}

function partBytes(value: unknown): Buffer {
  const heads: ColumnHead[] = [];
  const blocks: Uint8Array[] = [];
  const data = withoutColumns(value, (column) => {
    const { encoding, bytes } = encodeColumn(column);
    blocks.push(bytes);
    return heads.push([column.constructor.name, encoding, column.length, bytes.length]) - 1;
  });
  return Buffer.concat([jsonLine({ data, columns: heads }), ...blocks]);
}

const jsonLine = (value: unknown) => Buffer.from(`${JSON.stringify(value)}\n`);

/** What JSON can hold: columns become their numbers; NaN, Infinity and bigint become texts. Long names are cut. */
function withoutColumns(value: unknown, add: (column: NumericArray) => number): unknown {
  if (ArrayBuffer.isView(value)) return add(value as NumericArray);
  if (typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value)))
    return String(value);
  if (typeof value === 'string') return value.slice(0, MAX_TEXT);
  if (Array.isArray(value)) return value.map((item) => withoutColumns(item, add));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutColumns(item, add)]));
}

/** Grows with every change of what facts files hold: another number is refused with a clear sentence, never guessed at. */
export const FACTS_FORMAT = 8;

/** The first line of a file, before the parts. */
export interface FactsHead {
  readonly whyslow_facts: number;
  /** Version of whyslow that wrote it. */
  readonly by: string;
  /** Bytes of each part. */
  readonly parts: readonly number[];
}

export type ColumnHead = readonly [
  type: ColumnType,
  encoding: 'delta' | 'planes',
  length: number,
  bytes: number,
];

/** In the order of `COLUMN_TYPES`. */
export type ColumnType = (typeof COLUMN_TYPES)[number]['name'];
export const COLUMN_TYPES = [Uint8Array, Uint16Array, Uint32Array, Int32Array, Float32Array, Float64Array];

/** Of one file, unpacked. The largest that `whyslow facts` writes have about 15 MB. */
export const MAX_BYTES = 64 << 20;
/** Columns of one file in memory. A byte of the file may become eight. */
export const MAX_COLUMN_BYTES = 256 << 20;
export const LINE_END = 0x0a;

/**
 * Columns as bytes that pack well. `delta`: whole numbers as differences, seven bits a byte. `planes`: the first bytes of all
 * values, then the second, and so on. Both give back the very same values.
 */
export function encodeColumn(column: NumericArray): {
  readonly encoding: 'delta' | 'planes';
  readonly bytes: Uint8Array;
} {
  const isByte = column.BYTES_PER_ELEMENT === 1;
  return !isByte && column.every(isPlainWhole)
    ? { encoding: 'delta', bytes: toDeltas(column) }
    : { encoding: 'planes', bytes: toPlanes(column) };
}

/** Half of the safe integers, so that a difference is safe too. −0 would come back as 0. */
const isPlainWhole = (n: number) => Number.isInteger(n) && Math.abs(n) < 2 ** 51 && !Object.is(n, -0);

function toDeltas(column: NumericArray): Uint8Array {
  const bytes = new Uint8Array(column.length * 8);
  let at = 0;
  let last = 0;
  for (let i = 0; i < column.length; i++) {
    const delta = column[i]! - last;
    last = column[i]!;
    // The sign becomes the lowest bit.
    let rest = delta < 0 ? -2 * delta - 1 : 2 * delta;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes[at++] = (rest % 0x80) | 0x80;
    bytes[at++] = rest;
  }
  return bytes.subarray(0, at);
}

/** Null: the bytes are not such a column. */
export function fromDeltas<T extends NumericArray>(bytes: Uint8Array, column: T): T | null {
  let at = 0;
  let last = 0;
  for (let i = 0; i < column.length; i++) {
    // Most differences take one byte: whole numbers of the processor are enough for those.
    const first = bytes[at]!;
    if (first < 0x80) {
      at++;
      last += (first & 1) === 1 ? -((first + 1) >> 1) : first >> 1;
      column[i] = last;
      continue;
    }
    let value = 0;
    let factor = 1;
    let byte: number;
    do {
      if (at >= bytes.length || factor > 2 ** 53) return null;
      byte = bytes[at++]!;
      value += (byte & 0x7f) * factor;
      factor *= 0x80;
    } while (byte >= 0x80);
    last += value % 2 === 1 ? -(value + 1) / 2 : value / 2;
    column[i] = last;
  }
  return at === bytes.length ? column : null;
}

function toPlanes(column: NumericArray): Uint8Array {
  const size = column.BYTES_PER_ELEMENT;
  const raw = new Uint8Array(column.buffer, column.byteOffset, column.byteLength);
  if (size === 1) return raw;
  const bytes = new Uint8Array(raw.length);
  for (let plane = 0; plane < size; plane++)
    for (let i = 0; i < column.length; i++) bytes[plane * column.length + i] = raw[i * size + plane]!;
  return bytes;
}

export function fromPlanes<T extends NumericArray>(bytes: Uint8Array, column: T): T | null {
  if (bytes.length !== column.byteLength) return null;
  const size = column.BYTES_PER_ELEMENT;
  const raw = new Uint8Array(column.buffer);
  for (let plane = 0; plane < size; plane++)
    for (let i = 0; i < column.length; i++) raw[i * size + plane] = bytes[plane * column.length + i]!;
  return column;
}
