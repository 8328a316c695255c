import type { NumericArray } from '../../base/columns.js';
import { MAX_TEXT } from '../../base/shape.js';
import { encodeColumn } from './columns.js';

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
export const FACTS_FORMAT = 6;

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
