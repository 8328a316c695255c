import { closeSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DecodedArray, SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { describeSystemError, OutputError } from '../base/input-error.js';
import type { ColumnType, TableInfo } from './schema.js';

/** Null: not known. Numbers that are not finite count as null. */
export type Cell = string | number | bigint | boolean | null;

/** The values of one column that wait to be written. */
interface ColumnBuffer {
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

/** Rows held in memory before they are written as a group. Larger groups make smaller files, and larger peaks of memory. */
const GROUP_ROWS = 32_768;
/** Names of kernels may have 100 KB each: a group ends early when its texts have this many characters. */
const GROUP_CHARACTERS = 32 << 20;

/** A Parquet file that is written group by group, so that memory does not grow with its rows. */
export class ParquetTable {
  readonly table: TableInfo;
  readonly #file: number;
  readonly #folder: string;
  #isOpen = true;
  readonly #bytes: ByteWriter;
  readonly #parquet: ParquetWriter;
  /** Made when the first row comes: many tables stay empty. */
  #columns: readonly ColumnBuffer[] = [];
  #waiting = 0;
  #characters = 0;
  rows = 0;

  constructor(table: TableInfo, path: string) {
    this.table = table;
    this.#folder = dirname(path);
    this.#file = openSync(path, 'wx', 0o666);
    this.#bytes = new ByteWriter();
    this.#parquet = new ParquetWriter({
      writer: this.#bytes,
      schema: schemaOf(table),
      kvMetadata: [{ key: 'whyslow.table', value: table.name }],
    });
  }

  /** Values in the order of the columns. */
  add(cells: readonly Cell[]): void {
    if (this.rows === 0) this.#columns = this.table.columns.map(({ type }) => columnBuffer(type, GROUP_ROWS));
    for (let i = 0; i < cells.length; i++) {
      const cell = cells[i]!;
      if (typeof cell === 'string') this.#characters += cell.length;
      this.#columns[i]!.set(this.#waiting, cell);
    }
    this.rows++;
    this.#waiting++;
    if (this.#waiting >= GROUP_ROWS || this.#characters >= GROUP_CHARACTERS) this.#writeGroup();
  }

  finish(): void {
    this.#writeGroup();
    this.#parquet.finish();
    this.#flush();
    this.close();
  }

  /** Closes the file as it is. Another table may have failed after this one was finished. */
  close(): void {
    if (this.#isOpen) closeSync(this.#file);
    this.#isOpen = false;
  }

  #writeGroup(): void {
    const rows = this.#waiting;
    if (rows === 0) return;
    const columnData = this.table.columns.map(({ name }, i) => ({
      name,
      data: this.#columns[i]!.values(rows),
    }));
    this.#parquet.write({ columnData, rowGroupSize: rows });
    this.#waiting = 0;
    this.#characters = 0;
    this.#flush();
  }

  #flush(): void {
    const bytes = this.#bytes.getBytes();
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at);
    } catch (error) {
      const why = describeSystemError(error);
      throw new OutputError(`cannot write the table ${this.table.name} to ${this.#folder}: ${why}`);
    }
    this.#bytes.index = 0;
  }
}

const STORED: Readonly<Record<ColumnType, Omit<SchemaElement, 'name'>>> = {
  BOOLEAN: { type: 'BOOLEAN' },
  INT32: { type: 'INT32' },
  INT64: { type: 'INT64' },
  DOUBLE: { type: 'DOUBLE' },
  STRING: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
};

const schemaOf = ({ columns }: TableInfo): SchemaElement[] => [
  { name: 'root', num_children: columns.length },
  ...columns.map(({ name, type }) => ({ name, repetition_type: 'OPTIONAL' as const, ...STORED[type] })),
];
