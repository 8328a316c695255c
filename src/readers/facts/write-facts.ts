import type { NumericArray } from '../../base/columns.js';
import { MAX_TEXT } from '../../base/shape.js';
import { encodeColumn } from './columns.js';
import { type ColumnHead, FACTS_FORMAT, type FactsHead } from './format.js';

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
