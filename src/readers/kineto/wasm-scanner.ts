import { readFileSync } from 'node:fs';
import { packageRoot } from '../../base/package-root.js';
import { addressSpaceLeft } from '../common/limits.js';
import { latin1 } from '../common/text.js';
import {
  type Batch,
  type BatchTable,
  OFFSET_EVERY,
  type RawKind,
  type ScannerTables,
} from '../common/trace-rows/batch.js';
import {
  ARG_KEYS,
  COLUMN_TYPES,
  type ColumnType,
  EVENT_KEYS,
  OPS,
  SIDE_TABLES,
  type SideTableName,
} from '../common/trace-rows/schema.js';
import { type EventScanner, SCAN } from './scanner.js';

const NO_ENTRIES: BatchTable = { rows: 0, row: new Uint32Array(0), columns: [] };
const COUNTERS = 16;
const ODD = 0x80000000;

/** The scanner in WebAssembly; see wasm/README.md. */
export class WasmScanner implements EventScanner {
  readonly #x: ScannerExports;
  #input = 0;
  #capacity = 0;
  #scratch = 0;
  #scratchCapacity = 0;
  #u8: Uint8Array;

  /** Null if there is no WebAssembly or no memory for it. */
  static create(): WasmScanner | null {
    const exports = instantiate();
    return exports && new WasmScanner(exports);
  }

  private constructor(exports: ScannerExports) {
    this.#x = exports;
    this.#u8 = new Uint8Array(this.#x.memory.buffer);
    this.reserve(4096, 0);
    for (const [key, op] of Object.entries(EVENT_KEYS)) this.#addKey(key, 0, op, 0);
    for (const [key, op] of Object.entries(ARG_KEYS)) this.#addKey(key, 1, op, 0);
    SIDE_TABLES.forEach((t) => {
      const index = this.#x.addTable(t.capacity);
      const names = Object.keys(t.columns);
      for (const type of Object.values(t.columns)) this.#x.addColumn(index, COLUMN_TYPES[type]);
      for (const [key, column] of Object.entries(t.args)) {
        this.#addKey(key, 1, OPS.side, (index << 8) | names.indexOf(column));
      }
    });
  }

  #addKey(key: string, inArgs: number, op: number, detail: number): void {
    const bytes = Buffer.from(key);
    this.buffer.set(bytes);
    this.#x.addKey(this.#input, bytes.length, inArgs, op, detail);
  }

  #memory(): Uint8Array {
    if (this.#u8.buffer !== this.#x.memory.buffer) this.#u8 = new Uint8Array(this.#x.memory.buffer);
    return this.#u8;
  }

  reserve(bytes: number, keep: number): void {
    if (bytes <= this.#capacity) return;
    // At least doubled: the old buffer is never freed, so many small steps would add up.
    this.#capacity = Math.max(bytes, 2 * this.#capacity);
    this.#input = this.#x.reserve(this.#capacity, keep);
  }

  get buffer(): Uint8Array {
    return this.#memory().subarray(this.#input, this.#input + this.#capacity);
  }

  get position(): number {
    return this.#x.position.value - this.#input;
  }

  scan(from: number, to: number, fileOffset: number): number {
    return this.#x.scan(this.#input + from, this.#input + to, fileOffset);
  }

  scanRepaired(text: Uint8Array, fileOffset: number): boolean {
    const start = this.#copyIn(text);
    const end = start + text.length;
    // Checked before anything is read: a row cannot be taken back.
    if (!this.#x.isOneObject(start, end)) return false;
    return this.#x.scan(start, end, fileOffset) === SCAN.needMore && this.#x.position.value === end;
  }

  /** Copies bytes into the scanner's memory, until the next call; returns where they are. */
  #copyIn(bytes: Uint8Array): number {
    if (bytes.length > this.#scratchCapacity) {
      this.#scratchCapacity = Math.max(bytes.length * 2, 65536);
      this.#scratch = this.#x.alloc(this.#scratchCapacity + 128);
    }
    this.#memory().set(bytes, this.#scratch);
    return this.#scratch;
  }

  finishBatch(): Batch {
    const x = this.#x;
    x.finishBatch();
    const { buffer } = x.memory;
    const rows = x.rows.value;
    const firstRow = x.rowBase.value;
    const offsets = Math.ceil((firstRow + rows) / OFFSET_EVERY) - Math.ceil(firstRow / OFFSET_EVERY);
    return {
      rows,
      ts: new Float64Array(buffer, x.columnsAt(0), rows),
      dur: new Uint32Array(buffer, x.columnsAt(1), rows),
      name: new Uint32Array(buffer, x.columnsAt(2), rows),
      external: new Uint32Array(buffer, x.columnsAt(3), rows),
      correlation: new Uint32Array(buffer, x.columnsAt(4), rows),
      track: new Uint16Array(buffer, x.columnsAt(5), rows),
      kind: new Uint8Array(buffer, x.columnsAt(6), rows),
      offsets: new Float64Array(buffer, x.columnsAt(7), offsets),
      strings: x.stringCount(),
      tracks: x.tracksUsed(),
      side: Object.fromEntries(SIDE_TABLES.map((t, i) => [t.name, this.#table(i)])) as Record<
        SideTableName,
        BatchTable
      >,
    };
  }

  #table(index: number): BatchTable {
    const x = this.#x;
    const { buffer } = x.memory;
    const rows = x.tableRows(index);
    if (rows === 0) return NO_ENTRIES;
    const types: readonly ColumnType[] = Object.values(SIDE_TABLES[index]!.columns);
    const columns = types.map((type, c) => {
      const at = x.columnAt(index, c);
      if (type === 'f64') return new Float64Array(buffer, at, rows);
      return type === 'i32' ? new Int32Array(buffer, at, rows) : new Uint32Array(buffer, at, rows);
    });
    return { rows, row: new Uint32Array(buffer, x.tableRowsAt(index), rows), columns };
  }

  startBatch(): void {
    this.#x.startBatch();
  }

  finish(): ScannerTables {
    const x = this.#x;
    const count = x.stringCount();
    const packed = x.packStrings();
    const { buffer } = x.memory;
    const index = new Uint32Array(buffer, x.stringIndexAt(), count * 4);
    const firstSeen = new Float64Array(buffer, x.stringIndexAt(), count * 2);
    const stringStarts = new Uint32Array(count + 1);
    const oddStrings: { id: number; offset: number }[] = [];
    for (let i = 0; i < count; i++) {
      const length = index[i * 4 + 1]!;
      stringStarts[i + 1] = stringStarts[i]! + (length & ~ODD);
      if (length & ODD) oddStrings.push({ id: i, offset: firstSeen[i * 2 + 1]! });
    }
    const stringBytes = new Uint8Array(buffer, packed, x.stringBytes()).slice();
    const tokens = new Uint32Array(buffer, x.tracksAt(), x.tracksUsed() * 2);
    const tracks = Array.from({ length: x.tracksUsed() }, (_, i) => ({
      pid: tokens[i * 2]!,
      tid: tokens[i * 2 + 1]!,
    }));
    return {
      stringBytes,
      stringStarts,
      oddStrings,
      kinds: this.#kinds(),
      tracks,
      counters: this.#counters(),
      baseNs: x.timeBase(),
    };
  }

  #kinds(): readonly RawKind[] {
    const x = this.#x;
    const { buffer } = x.memory;
    return Array.from({ length: x.kindsUsed() }, (_, k) => {
      const at = x.kindsAt() + k * 24;
      const [phase, category] = new Uint32Array(buffer, at, 2);
      const [events, folded] = new Float64Array(buffer, at + 8, 2);
      return { phase: String.fromCharCode(phase!), category: category!, events: events!, folded: folded! };
    });
  }

  #counters(): ScannerTables['counters'] {
    const x = this.#x;
    const counts = new Float64Array(x.memory.buffer, x.countersAt(), COUNTERS);
    const firsts = new Float64Array(x.memory.buffer, x.firstsAt(), COUNTERS);
    return Array.from(counts, (count, i) => ({ count, first: firsts[i]! }));
  }
}

/** The exports of wasm/assembly/index.ts. Addresses are byte offsets into `memory`. */
interface ScannerExports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly position: { readonly value: number };
  readonly rows: { readonly value: number };
  readonly rowBase: { readonly value: number };
  alloc(bytes: number): number;
  reserve(bytes: number, keep: number): number;
  scan(from: number, to: number, fileOffset: number): number;
  isOneObject(from: number, to: number): number;
  finishBatch(): void;
  startBatch(): void;
  timeBase(): bigint;
  addTable(capacity: number): number;
  addColumn(table: number, type: number): number;
  addKey(at: number, length: number, inArgs: number, op: number, detail: number): void;
  columnsAt(which: number): number;
  tableRows(table: number): number;
  tableRowsAt(table: number): number;
  columnAt(table: number, column: number): number;
  stringCount(): number;
  stringBytes(): number;
  stringIndexAt(): number;
  packStrings(): number;
  kindsAt(): number;
  kindsUsed(): number;
  tracksAt(): number;
  tracksUsed(): number;
  countersAt(): number;
  firstsAt(): number;
}

/** The part of WebAssembly used here. TypeScript has its types only for browsers. */
interface WebAssemblyApi {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
}
/** Undefined in `node --jitless`. */
const { WebAssembly } = globalThis as unknown as { readonly WebAssembly?: WebAssemblyApi };

/** Compiled once per process. */
let compiled: object | undefined;

/**
 * V8 reserves 10.5 GB of address space for a memory of any size, and a memory that grows to its 4 GB needs as much again
 * for a moment: under a lower `ulimit -v` it may fail in the middle of a file.
 */
const ADDRESS_SPACE = 15e9;

function compile({ Module }: WebAssemblyApi): object | null {
  try {
    return new Module(readFileSync(new URL('wasm/scanner.wasm', packageRoot())));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EMFILE') return null;
    throw error;
  }
}

/** Null if WebAssembly is off, its memory cannot be reserved (under `ulimit -v`), or no more files can be opened. */
function instantiate(): ScannerExports | null {
  if (WebAssembly === undefined || addressSpaceLeft() < ADDRESS_SPACE) return null;
  const program = compiled ?? compile(WebAssembly);
  if (program === null) return null;
  compiled = program;
  const parseNumber = (at: number, length: number) =>
    Number(latin1(new Uint8Array(exports.memory.buffer, at, length)));
  const abort = () => {
    throw new Error('the scanner aborted');
  };
  let exports: ScannerExports;
  try {
    exports = new WebAssembly.Instance(program, { env: { parseNumber, abort } }).exports as ScannerExports;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
  return exports;
}
