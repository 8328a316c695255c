import { closeSync, openSync, writeSync } from 'node:fs';
import type { SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { ColumnType, TableInfo } from './schema.js';

/** Null: not known. Numbers that are not finite count as null. */
export type Cell = string | number | bigint | boolean | null;

/** Rows held in memory before they are written as a group. DuckDB reads groups in parallel, each of 122,880 rows at best. */
const GROUP_ROWS = 65_536;
/** Names of kernels may have 100 KB each: a group ends early when its texts have this many characters. */
const GROUP_CHARACTERS = 32 << 20;

/** A Parquet file that is written group by group, so that memory does not grow with its rows. */
export class ParquetTable {
  readonly table: TableInfo;
  readonly #file: number;
  readonly #bytes: ByteWriter;
  readonly #parquet: ParquetWriter;
  #columns: Cell[][];
  #characters = 0;
  rows = 0;

  constructor(table: TableInfo, path: string) {
    this.table = table;
    this.#file = openSync(path, 'wx', 0o666);
    this.#bytes = new ByteWriter();
    this.#parquet = new ParquetWriter({
      writer: this.#bytes,
      schema: schemaOf(table),
      kvMetadata: [{ key: 'whyslow.table', value: table.name }],
    });
    this.#columns = table.columns.map(() => []);
  }

  /** Values in the order of the columns. */
  add(cells: readonly Cell[]): void {
    for (let i = 0; i < cells.length; i++) {
      const cell = cells[i]!;
      if (typeof cell === 'string') this.#characters += cell.length;
      this.#columns[i]!.push(typeof cell === 'number' && !Number.isFinite(cell) ? null : cell);
    }
    this.rows++;
    if (this.#columns[0]!.length >= GROUP_ROWS || this.#characters >= GROUP_CHARACTERS) this.#writeGroup();
  }

  finish(): void {
    this.#writeGroup();
    this.#parquet.finish();
    this.#flush();
    closeSync(this.#file);
  }

  /** Closes the file as it is. */
  abandon(): void {
    closeSync(this.#file);
  }

  #writeGroup(): void {
    const rows = this.#columns[0]!.length;
    if (rows === 0) return;
    const columnData = this.table.columns.map(({ name }, i) => ({ name, data: this.#columns[i]! }));
    this.#parquet.write({ columnData, rowGroupSize: rows });
    this.#columns = this.table.columns.map(() => []);
    this.#characters = 0;
    this.#flush();
  }

  #flush(): void {
    const bytes = this.#bytes.getBytes();
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at);
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
