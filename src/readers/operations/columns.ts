import type { SchemaElement } from 'hyparquet';
import type { OperationFaults } from './faults.js';

/** Takes the values of a column, row group by row group. */
export interface ColumnSink {
  /** `first`: the file row of the group's first row. */
  begin(first: number, element: SchemaElement): void;
  take(row: number, value: number | bigint | Uint8Array | null): void;
  /** Forgets the values of a group that turned out to be damaged. */
  clear(first: number, count: number): void;
}

type Numbers = Int32Array | Float64Array;

export class NumberColumn<T extends Numbers> implements ColumnSink {
  #first = 0;
  #scale = 1;

  /** `absent`: the value when the file has no such column. `unknown`: the value for rows without a usable one. */
  constructor(
    readonly values: T,
    absent: number,
    readonly unknown: number,
  ) {
    values.fill(absent);
  }

  begin(first: number, element: SchemaElement): void {
    this.#first = first;
    this.#scale = secondsPerUnit(element);
  }

  take(row: number, value: number | bigint | Uint8Array | null): void {
    const number = value === null || value instanceof Uint8Array ? Number.NaN : Number(value) * this.#scale;
    this.values[this.#first + row] = this.#fits(number) ? number : this.unknown;
  }

  clear(first: number, count: number): void {
    this.values.fill(this.unknown, first, first + count);
  }

  pick(rows: Int32Array): T {
    const picked = new (this.values.constructor as new (length: number) => T)(rows.length);
    for (let i = 0; i < rows.length; i++) picked[i] = this.values[rows[i]!]!;
    return picked;
  }

  /** Integer columns with gaps are often written as floating point. */
  #fits(number: number): boolean {
    if (this.values instanceof Float64Array) return Number.isFinite(number);
    return Number.isInteger(number) && Math.abs(number) < 2 ** 31;
  }
}

/** Timestamps have a unit; plain numbers are seconds. */
function secondsPerUnit({ converted_type, logical_type }: SchemaElement): number {
  const unit = logical_type?.type === 'TIMESTAMP' ? logical_type.unit : converted_type;
  if (unit === 'MILLIS' || unit === 'TIMESTAMP_MILLIS') return 1e-3;
  if (unit === 'MICROS' || unit === 'TIMESTAMP_MICROS') return 1e-6;
  return unit === 'NANOS' ? 1e-9 : 1;
}

const NO_KIND = 65535;
/** Longer names are cut to this many bytes. */
const MAX_NAME = 256;

export class KindColumn implements ColumnSink {
  readonly names: string[] = [];
  readonly #values: Uint16Array;
  readonly #byName = new Map<string, number>();
  /** All values from one dictionary entry are the same object. */
  #byEntry = new Map<Uint8Array, number>();
  #first = 0;

  constructor(
    rows: number,
    readonly faults: OperationFaults,
  ) {
    this.#values = new Uint16Array(rows).fill(NO_KIND);
  }

  begin(first: number): void {
    this.#first = first;
    this.#byEntry = new Map();
  }

  take(row: number, value: number | bigint | Uint8Array | null): void {
    if (!(value instanceof Uint8Array)) return;
    const id = this.#byEntry.get(value) ?? this.#idOf(value, this.#first + row);
    // Without a dictionary every row has an object of its own.
    if (this.#byEntry.size < 4096) this.#byEntry.set(value, id);
    this.#values[this.#first + row] = id;
  }

  #idOf(bytes: Uint8Array, row: number): number {
    const name = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, MAX_NAME)).toString();
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    if (this.names.length >= NO_KIND) {
      this.faults.add('too-many-kinds', row);
      return NO_KIND;
    }
    this.names.push(name);
    this.#byName.set(name, this.names.length - 1);
    return this.names.length - 1;
  }

  has(row: number): boolean {
    return this.#values[row] !== NO_KIND;
  }

  clear(first: number, count: number): void {
    this.#values.fill(NO_KIND, first, first + count);
  }

  pick(rows: Int32Array): Uint16Array {
    return Uint16Array.from(rows, (row) => this.#values[row]!);
  }
}
