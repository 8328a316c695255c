import type { Problem } from '../../base/problem.js';
import type { OperationTable } from '../../model/operation-table.js';
import { FaultCounter } from './faults.js';
import { emptyTable, readTable } from './table.js';

/** As it stands in `ReadResult` once the format is registered. */
export interface OperationsResult {
  readonly kind: 'operations';
  readonly table: OperationTable;
  readonly problems: readonly Problem[];
}

/** 10 bytes a row in the public tables: enough for 25 million operations. */
const MAX_BYTES = 256 << 20;

/** Holds the file until it is complete: a Parquet file is read from its end. */
export class OperationsStreamReader {
  readonly #faults = new FaultCounter();
  #chunks: Uint8Array[] = [];
  #bytes = 0;

  constructor(readonly limit = MAX_BYTES) {}

  push(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= this.limit) this.#chunks.push(chunk);
    else this.#chunks = [];
  }

  finish(): OperationsResult {
    const faults = this.#faults;
    if (this.#bytes > this.limit) {
      faults.add('too-large', null);
      return { kind: 'operations', table: emptyTable(), problems: faults.list() };
    }
    const file = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    this.#chunks = [];
    return { kind: 'operations', table: readTable(file, faults), problems: faults.list() };
  }
}
