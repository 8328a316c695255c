import { readFileSync } from 'node:fs';
import { packageRoot } from '../../base/package-root.js';
import { addressSpaceLeft } from '../common/limits.js';
import { latin1 } from '../common/text.js';

/** The exports of wasm/assembly/index.ts. Addresses are byte offsets into `memory`. */
export interface ScannerExports {
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
export function instantiate(): ScannerExports | null {
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
