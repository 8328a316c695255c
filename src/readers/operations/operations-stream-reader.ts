import type { ReadResult, StreamReader } from '../common/reader.js';
import { newOperationFaults } from './faults.js';
import { emptyTable, readTable } from './table.js';

/** 10 bytes a row in the public tables: enough for 25 million operations. */
const MAX_BYTES = 256 << 20;

/** Holds the whole file: Parquet is read from its end. */
export class OperationsStreamReader implements StreamReader {
  #chunks: Uint8Array[] = [];
  #bytes = 0;

  constructor(readonly limit = MAX_BYTES) {}

  push(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= this.limit) this.#chunks.push(chunk);
    else this.#chunks = [];
  }

  finish(): ReadResult {
    const faults = newOperationFaults();
    const isTooLarge = this.#bytes > this.limit;
    if (isTooLarge) faults.add('too-large', null);
    const table = isTooLarge ? emptyTable(faults) : readTable(Buffer.concat(this.#chunks), faults);
    this.#chunks = [];
    return { kind: 'operations', table, problems: faults.list() };
  }
}
