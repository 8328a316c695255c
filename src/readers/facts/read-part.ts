import type { NumericArray } from '../../base/columns.js';
import { ShapeError } from '../../base/shape.js';
import type { FactsPart } from '../common/facts-record.js';
import { parseObject } from '../common/json-object.js';
import { fromDeltas, fromPlanes } from './columns.js';
import { COLUMN_TYPES, LINE_END, MAX_COLUMN_BYTES } from './format.js';

interface StoredColumn {
  readonly type: (typeof COLUMN_TYPES)[number];
  readonly encoding: unknown;
  readonly length: number;
  readonly bytes: Uint8Array;
}

/** Unpacks columns only when they are asked for. Null: not a part. */
export function readPart(part: Buffer): FactsPart | null {
  const end = part.indexOf(LINE_END);
  const head = end < 0 ? null : parseObject(part.toString('utf8', 0, end));
  const columns = head && storedColumns(head.columns, part.subarray(end + 1));
  if (!head || !columns) return null;
  return { data: head.data, column: (index) => unpack(columns[index]) };
}

/** Null: the columns are not within the part, or need too much memory. */
function storedColumns(heads: unknown, bytes: Uint8Array): readonly StoredColumn[] | null {
  if (!Array.isArray(heads)) return null;
  const columns: StoredColumn[] = [];
  let at = 0;
  let memory = 0;
  for (const head of heads) {
    const [name, encoding, length, size] = Array.isArray(head) ? head : [];
    const type = COLUMN_TYPES.find((t) => t.name === name);
    if (!type || !isSize(length) || !isSize(size) || at + size > bytes.length) return null;
    memory += length * type.BYTES_PER_ELEMENT;
    if (memory > MAX_COLUMN_BYTES) return null;
    columns.push({ type, encoding, length, bytes: bytes.subarray(at, at + size) });
    at += size;
  }
  return at === bytes.length ? columns : null;
}

const isSize = (n: unknown): n is number => Number.isSafeInteger(n) && (n as number) >= 0;

function unpack(stored: StoredColumn | undefined): NumericArray {
  if (!stored) throw new ShapeError('the number of a column');
  const { type, encoding, length, bytes } = stored;
  const empty: NumericArray = new type(length);
  const column = encoding === 'delta' ? fromDeltas(bytes, empty) : fromPlanes(bytes, empty);
  return column ?? wrongColumn(`${length} values of ${type.name}`);
}

function wrongColumn(expected: string): never {
  throw new ShapeError(expected);
}
