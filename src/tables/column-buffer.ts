import type { DecodedArray } from 'hyparquet';
import type { ColumnType } from './schema.js';

/** Null: not known. Numbers that are not finite count as null. */
export type Cell = string | number | bigint | boolean | null;

/** The values of one column that wait to be written. */
export interface ColumnBuffer {
  set(row: number, cell: Cell): void;
  /** The first `rows` values. */
  values(rows: number): DecodedArray;
}

/**
 * Numbers are held flat. As JavaScript values, each would be an object that outlives many small collections and is garbage
 * soon after: on a heap of 40 MB, V8 let 130 MB of it gather.
 */
export function columnBuffer(type: ColumnType, size: number): ColumnBuffer {
  if (type === 'INT64') return new Integers(size);
  return type === 'DOUBLE' || type === 'INT32' ? new Numbers(size) : new Others();
}

class Numbers implements ColumnBuffer {
  readonly #values: Float64Array;

  constructor(size: number) {
    this.#values = new Float64Array(size);
  }

  set(row: number, cell: Cell): void {
    this.#values[row] = typeof cell === 'number' && Number.isFinite(cell) ? cell : Number.NaN;
  }

  values(rows: number): DecodedArray {
    return withNulls(this.#values.subarray(0, rows), Number.isNaN);
  }
}

/** No time: about 292 years before 1970. */
const NO_INTEGER = -(2n ** 63n);

class Integers implements ColumnBuffer {
  readonly #values: BigInt64Array;

  constructor(size: number) {
    this.#values = new BigInt64Array(size);
  }

  set(row: number, cell: Cell): void {
    this.#values[row] = typeof cell === 'bigint' ? cell : NO_INTEGER;
  }

  values(rows: number): DecodedArray {
    return withNulls(this.#values.subarray(0, rows), (value) => value === NO_INTEGER);
  }
}

/** Texts are shared: the same name is one object in all rows. */
class Others implements ColumnBuffer {
  readonly #values: Cell[] = [];

  set(row: number, cell: Cell): void {
    this.#values[row] = cell;
  }

  values(rows: number): DecodedArray {
    return this.#values.slice(0, rows);
  }
}

function withNulls<T extends number | bigint>(
  values: (Float64Array | BigInt64Array) & ArrayLike<T>,
  isNull: (value: T) => boolean,
): DecodedArray {
  for (let row = 0; row < values.length; row++)
    if (isNull(values[row]!)) return Array.from<T, T | null>(values, (v) => (isNull(v) ? null : v));
  return values;
}
