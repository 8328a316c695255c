import { BATCH_ROWS, type Batch, type BatchTable, OFFSET_EVERY } from './batch.js';
import {
  type ColumnType,
  NO_I32,
  NO_ID,
  SIDE_TABLES,
  type SideTableName,
  type SideTableSchema,
} from './schema.js';

/** us * 1000 + ns as a double, rounded once. */
export function nanoseconds(us: number, ns: number): number {
  // Below 2^53 / 1000 the product and the sum are exact.
  if (us > -9e12 && us < 9e12) return us * 1000 + ns;
  return Number.isNaN(us) ? us : Number(BigInt(us) * 1000n + BigInt(ns));
}

/** The columns of the batch being filled. */
export class RowColumns {
  /** Rows in this batch, and in those before it. */
  rows = 0;
  rowBase = 0;
  /** Absolute time is us * 1000 + ns; us is NaN where it is missing. */
  readonly us = new Float64Array(BATCH_ROWS);
  readonly ns = new Int16Array(BATCH_ROWS);
  readonly dur = new Uint32Array(BATCH_ROWS);
  readonly name = new Uint32Array(BATCH_ROWS);
  readonly external = new Uint32Array(BATCH_ROWS);
  readonly correlation = new Uint32Array(BATCH_ROWS);
  readonly track = new Uint16Array(BATCH_ROWS);
  readonly kind = new Uint8Array(BATCH_ROWS);
  readonly #ts = new Float64Array(BATCH_ROWS);
  readonly #offsets = new Float64Array(BATCH_ROWS / OFFSET_EVERY + 1);
  /** The first time above zero; NaN before there is one. */
  #baseUs = Number.NaN;
  #baseNs = 0;

  get full(): boolean {
    return this.rows === BATCH_ROWS;
  }

  get baseNs(): bigint {
    return Number.isNaN(this.#baseUs) ? 0n : BigInt(this.#baseUs) * 1000n + BigInt(this.#baseNs);
  }

  noteOffset(row: number, offset: number): void {
    if (row % OFFSET_EVERY === 0) this.#offsets[Math.floor(this.rows / OFFSET_EVERY)] = offset;
  }

  finish(): Omit<Batch, 'strings' | 'tracks' | 'side'> {
    const { rows, rowBase } = this;
    this.#findBase();
    this.#timesFromBase();
    const offsets = Math.ceil((rowBase + rows) / OFFSET_EVERY) - Math.ceil(rowBase / OFFSET_EVERY);
    return {
      rows,
      ts: this.#ts.subarray(0, rows),
      dur: this.dur.subarray(0, rows),
      name: this.name.subarray(0, rows),
      external: this.external.subarray(0, rows),
      correlation: this.correlation.subarray(0, rows),
      track: this.track.subarray(0, rows),
      kind: this.kind.subarray(0, rows),
      offsets: this.#offsets.subarray(0, offsets),
    };
  }

  #findBase(): void {
    for (let i = 0; i < this.rows && Number.isNaN(this.#baseUs); i++) {
      if (!(this.us[i]! > 0 || this.ns[i]! > 0)) continue;
      this.#baseUs = this.us[i]!;
      this.#baseNs = this.ns[i]!;
    }
  }

  #timesFromBase(): void {
    const baseUs = Number.isNaN(this.#baseUs) ? 0 : this.#baseUs;
    for (let i = 0; i < this.rows; i++) {
      const us = this.us[i]! - baseUs;
      const ns = this.ns[i]! - this.#baseNs;
      // The difference of two times of opposite sign may be more than 2^53 us.
      const exact = us > -9e15 && us < 9e15;
      this.#ts[i] = exact || Number.isNaN(us) ? nanoseconds(us, ns) : this.#farFromBase(i);
    }
  }

  #farFromBase(row: number): number {
    return Number(BigInt(this.us[row]!) * 1000n + BigInt(this.ns[row]!) - this.baseNs);
  }

  next(): void {
    this.rowBase += this.rows;
    this.rows = 0;
  }
}

type ColumnArray = Uint32Array | Int32Array | Float64Array;

const EMPTY: Readonly<Record<ColumnType, number>> = { u32: NO_ID, i32: NO_I32, token: 0, f64: Number.NaN };

class SideTable {
  readonly types: readonly ColumnType[];
  readonly row: Uint32Array;
  readonly columns: readonly ColumnArray[];
  readonly #empty: readonly number[];
  readonly #capacity: number;
  rows = 0;

  constructor(schema: SideTableSchema) {
    this.types = Object.values(schema.columns);
    this.#empty = this.types.map((type) => EMPTY[type]);
    this.#capacity = schema.capacity;
    this.row = new Uint32Array(schema.capacity);
    this.columns = this.types.map((type) => {
      if (type === 'f64') return new Float64Array(schema.capacity);
      return type === 'i32' ? new Int32Array(schema.capacity) : new Uint32Array(schema.capacity);
    });
  }

  clearEntry(): void {
    for (let c = 0; c < this.columns.length; c++) this.columns[c]![this.rows] = this.#empty[c]!;
  }

  /** An event has at most one entry. */
  get full(): boolean {
    return this.rows === this.#capacity;
  }

  finish(): BatchTable {
    const { rows } = this;
    return { rows, row: this.row.subarray(0, rows), columns: this.columns.map((c) => c.subarray(0, rows)) };
  }
}

/** Arguments only some events have: (row, columns...) by table. */
export class SideTables {
  readonly #tables: readonly SideTable[] = SIDE_TABLES.map((schema) => new SideTable(schema));
  /** Bit t: the event being read has an entry in table t. */
  #touched = 0;
  /** Some table has no room for one more event. */
  full = false;

  beginEvent(): void {
    this.#touched = 0;
  }

  typeOf(table: number, column: number): ColumnType {
    return this.#tables[table]!.types[column]!;
  }

  /** Makes the event's entry in the table, with empty columns, unless it has one. */
  touch(table: number): SideTable {
    const t = this.#tables[table]!;
    if ((this.#touched & (1 << table)) === 0) {
      this.#touched |= 1 << table;
      t.clearEntry();
    }
    return t;
  }

  set(table: number, column: number, value: number): void {
    const t = this.touch(table);
    t.columns[column]![t.rows] = value;
  }

  /** The event is complete and became `row`: keeps its entries. */
  commit(row: number): void {
    for (let bits = this.#touched; bits !== 0; bits &= bits - 1) {
      const t = this.#tables[31 - Math.clz32(bits & -bits)]!;
      t.row[t.rows++] = row;
      if (t.full) this.full = true;
    }
  }

  finish(): Record<SideTableName, BatchTable> {
    const entries = SIDE_TABLES.map((schema, i) => [schema.name, this.#tables[i]!.finish()]);
    return Object.fromEntries(entries) as Record<SideTableName, BatchTable>;
  }

  clear(): void {
    for (const t of this.#tables) t.rows = 0;
    this.full = false;
  }
}
