import { Column, type NumericArray } from '../../../base/columns.js';
import { NO_I32, NO_ID } from '../../../model/trace-data.js';
import type { BatchTable } from './batch.js';
import type { SideTableSchema } from './schema.js';

/** Columns that are kept in a smaller type than the scanner's, because values are small and rows many. */
const NARROW: Readonly<Record<string, NarrowType>> = {
  'gpu.device': { type: Uint8Array, none: 0xff },
  'gpu.registers': { type: Uint16Array, none: 0xffff },
  'gpu.occupancy': { type: Float32Array, none: Number.NaN },
  'ops.forwardThread': { type: Uint16Array, none: 0xffff },
  'flows.kind': { type: Uint8Array, none: 0xff },
};
const TYPES = { f64: Float64Array, i32: Int32Array, u32: Uint32Array, token: Uint16Array } as const;

interface NarrowType {
  readonly type: new (length: number) => NumericArray;
  readonly none: number;
}

export type SideArrays = Readonly<Record<string, NumericArray>>;

/** A value that does not fit its narrow column. */
type OnTooWide = (row: number, column: string, value: number) => void;

/** One side table: rows and columns, each in the type the model has. */
export class SideColumns {
  readonly #schema: SideTableSchema;
  readonly #names: readonly string[];
  readonly #row = new Column(Uint32Array);
  readonly #columns: Column<NumericArray>[];

  constructor(schema: SideTableSchema) {
    this.#schema = schema;
    this.#names = Object.keys(schema.columns);
    this.#columns = Object.entries(schema.columns).map(([name, type]) => {
      return new Column<NumericArray>(NARROW[`${schema.name}.${name}`]?.type ?? TYPES[type]);
    });
  }

  /** `growth`: how many entries to expect in the end per entry so far. `strings`: how many strings there are. */
  append(block: BatchTable, growth: number, strings: number, onTooWide: OnTooWide): void {
    if (block.rows === 0) return;
    const expected = (this.#row.length + block.rows) * growth;
    this.#row.append(block.row, expected);
    if (strings > 0xffff) this.#widenTokens(expected);
    this.#columns.forEach((column, i) => {
      const narrow = NARROW[`${this.#schema.name}.${this.#names[i]}`];
      const values = block.columns[i]!;
      column.append(
        narrow
          ? narrowed(values, narrow, (k) => onTooWide(block.row[k]!, this.#names[i]!, values[k]!))
          : values,
        expected,
      );
    });
  }

  #widenTokens(expected: number): void {
    this.#columns.forEach((column, i) => {
      if (column.type === Uint16Array && this.#schema.columns[this.#names[i]!] === 'token') {
        this.#columns[i] = column.widened<NumericArray>(Uint32Array, expected);
      }
    });
  }

  finish(): SideArrays {
    const columns = this.#columns.map((c, i) => [this.#names[i]!, c.finish()] as const);
    return { row: this.#row.finish(), ...Object.fromEntries(columns) };
  }
}

function narrowed(
  values: NumericArray,
  { type, none }: NarrowType,
  onTooWide: (index: number) => void,
): NumericArray {
  const out = new type(values.length);
  const isFloat = out instanceof Float32Array; // rounding is expected
  for (let i = 0; i < values.length; i++) {
    const v = values[i]!;
    out[i] = v;
    if (v === NO_ID || v === NO_I32) out[i] = none;
    else if (!isFloat && (out[i] !== v || v === none)) {
      out[i] = none;
      onTooWide(i);
    }
  }
  return out;
}
