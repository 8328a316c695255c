import type { Batch, ScannerTables } from '../common/trace-rows/batch.js';
import { COUNTER } from '../common/trace-rows/counters.js';
import { NEED_MORE, nestedEnd, SENTINEL, SENTINELS, skipSpace } from './json-text.js';
import { EventReader, MALFORMED } from './plain-event.js';
import { type EventScanner, SCAN } from './scanner.js';

const OPEN = 0x7b;
const COMMA = 0x2c;
const ARRAY_CLOSE = 0x5d;

/**
 * The scanner for machines without WebAssembly or the memory for it, and a second opinion in tests. Plain and slow: it looks up
 * every key and reads every number from its text. `JSON.parse` would round times since 1970 to 0.25 us, and hide control
 * characters and invalid UTF-8.
 */
export class PlainScanner implements EventScanner {
  readonly #reader = new EventReader();
  readonly #row = this.#reader.row;
  #memory = new Uint8Array(SENTINELS);
  buffer: Uint8Array = this.#memory.subarray(0, 0);
  position = 0;
  /** No comma was seen since the last event. */
  #afterEvent = false;

  reserve(bytes: number, keep: number): void {
    if (bytes <= this.buffer.length) return;
    const memory = new Uint8Array(bytes + SENTINELS);
    memory.set(this.#memory.subarray(0, keep));
    this.#memory = memory;
    this.buffer = memory.subarray(0, bytes);
  }

  scan(from: number, to: number, fileOffset: number): number {
    const b = this.#memory;
    b.fill(SENTINEL, to, to + SENTINELS);
    let p = from;
    for (;;) {
      p = skipSpace(b, p);
      this.position = p;
      if (p >= to) return SCAN.needMore;
      if (b[p] === COMMA) {
        this.#afterEvent = false;
        p++;
      } else if (b[p] === OPEN) {
        if (this.#row.isFull) return SCAN.batchFull;
        p = this.#event(b, p, to, fileOffset + p - from);
        if (p === NEED_MORE) return SCAN.needMore;
        if (p === MALFORMED) return SCAN.malformed;
      } else return b[p] === ARRAY_CLOSE ? SCAN.arrayEnd : SCAN.malformed;
    }
  }

  #event(b: Uint8Array, start: number, end: number, fileOffset: number): number {
    const { counters } = this.#row;
    counters.begin(fileOffset);
    const next = this.#reader.read(b, start, end);
    if (next < 0) return next;
    if (this.#afterEvent) counters.count(COUNTER.missingComma);
    counters.commit();
    this.#afterEvent = true;
    return next;
  }

  scanRepaired(text: Uint8Array, fileOffset: number): boolean {
    const { length } = text;
    const scratch = new Uint8Array(length + SENTINELS).fill(SENTINEL);
    scratch.set(text);
    const start = skipSpace(scratch, 0);
    if (scratch[start] !== OPEN) return false;
    // Checked before anything is read: a row cannot be taken back.
    const stop = nestedEnd(scratch, start, length);
    if (stop === NEED_MORE || skipSpace(scratch, stop) < length) return false;
    if (this.#row.isFull) return false;
    return this.#event(scratch, start, length, fileOffset) === stop;
  }

  finishBatch(): Batch {
    return this.#row.finishBatch();
  }

  startBatch(): void {
    this.#row.startBatch();
  }

  finish(): ScannerTables {
    return this.#row.tables();
  }
}
