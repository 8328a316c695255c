import type { NumericArray } from '../../base/columns.js';

type ColumnTypes = Readonly<Record<string, new (length: number) => NumericArray>>;
type Columns<T extends ColumnTypes> = { readonly [Name in keyof T]: InstanceType<T[Name]> };

const FIRST_ROWS = 64;

/**
 * Columns that grow together, row by row. Capacity doubles; the unused half is zero pages that the system has not handed out
 * yet. For blocks of rows see `base/columns.ts`.
 */
export class GrowingColumns<T extends ColumnTypes> {
  readonly #types: T;
  #capacity = 0;
  /** Ask again after `addRow`: the arrays may have been replaced. */
  columns: Columns<T>;
  rows = 0;

  constructor(types: T) {
    this.#types = types;
    this.columns = {} as Columns<T>;
    this.#resize(FIRST_ROWS);
  }

  /** Makes room for one more row; returns its index. */
  addRow(): number {
    if (this.rows === this.#capacity) this.#resize(2 * this.#capacity);
    return this.rows++;
  }

  /** Cuts the columns to length. Call once. */
  finish(): Columns<T> {
    this.#resize(this.rows);
    return this.columns;
  }

  /** One column at a time, so that there is never a second copy of all of them. */
  #resize(capacity: number): void {
    const columns = this.columns as Record<string, NumericArray>;
    for (const [name, type] of Object.entries(this.#types)) {
      const resized = new type(capacity);
      resized.set(columns[name]?.subarray(0, Math.min(this.rows, capacity)) ?? []);
      columns[name] = resized;
    }
    this.#capacity = capacity;
  }
}
