import { latin1 } from '../common/text.js';
import { COUNTER } from '../common/trace-rows/counters.js';
import { type Allocate, packed } from './packed.js';
import { SCAN } from './scanner.js';
import type { Shard, ShardBatch, ShardStrings } from './shard.js';
import { WasmScanner } from './wasm-scanner.js';

/** Bytes scanned at a time: they stay in the cache of the core. */
const CHUNK = 256 << 10;
/** Where the first event is looked for first: most have less than a kilobyte. */
const FIRST_WINDOW = 8 << 10;
/** An event may have this many bytes, else the whole part is left to others. */
const MAX_REST = 1 << 20;
/**
 * Where an event begins, as Kineto writes it. No flow: those belong to the row before, which another scanner reads. If this is
 * inside a text or another event, the shard will not fit to the one before it, and is not used.
 */
const EVENT_START = /,[ \t\r\n]*(?=\{[ \t\r\n]*"ph"[ \t\r\n]*:[ \t\r\n]*"[^stf"\\]")/;
const FLOWS = 'stf';
/** Strings of most traces have less than a megabyte. */
const MAX_STRING_BYTES = 8 << 20;
/** Beyond these limits events are read in another way, which depends on all events before. */
const LIMITS = [COUNTER.stringsFull, COUNTER.kindsFull, COUNTER.tracksFull];

/** Fills `into` with the next bytes, as much as there is; 0 at the end. */
type ReadBytes = (into: Uint8Array) => number;

/** Reads parts of a file, one after the other, in the order of the file. */
export class ShardScanner {
  readonly #scanner: WasmScanner;
  readonly #allocate: Allocate | undefined;
  #isFirst = true;
  /** Strings and tracks that were handed out. String 0 is none. */
  #strings = 1;
  #tracks = 0;
  #fill = 0;
  #length = 0;

  /** Null where there is no WebAssembly or no memory for it. */
  static create(allocate?: Allocate): ShardScanner | null {
    const scanner = WasmScanner.create();
    return scanner && new ShardScanner(scanner, allocate);
  }

  private constructor(scanner: WasmScanner, allocate: Allocate | undefined) {
    this.#scanner = scanner;
    this.#allocate = allocate;
  }

  /** It knows so many strings that a new scanner is better for the next part: every thread has its own copy of them. */
  get isLarge(): boolean {
    return this.#scanner.exports.stringBytes() > MAX_STRING_BYTES;
  }

  /** Null: it has to be read in order. Use a new scanner for the next part: this one may have learned what is wrong. */
  scan(read: ReadBytes): Shard | null {
    const scanner = this.#scanner;
    scanner.exports.startShard();
    this.#fill = 0;
    this.#length = 0;
    const start = this.#findStart(read);
    if (start < 0) return null;
    const head = scanner.buffer.slice(0, start);
    const batches: ShardBatch[] = [];
    for (let from = start; ; ) {
      const status = scanner.scan(from, this.#fill, this.#length - this.#fill + from);
      from = scanner.position;
      // After an end of the array nothing is scanned: it is kept for whoever reads the document around the events.
      if (status === SCAN.malformed) return null;
      if (status === SCAN.batchFull) batches.push(this.#takeBatch());
      else {
        this.#keepFrom(from);
        from = 0;
        if (this.#fill > MAX_REST) return null;
        if (this.#readMore(read)) continue;
        batches.push(this.#takeBatch());
        return this.#isGood(batches, start) ? this.#finish(head, batches) : null;
      }
    }
  }

  /** Reads until the first event, and returns where it starts. -1: there is none. */
  #findStart(read: ReadBytes): number {
    while (this.#fill < MAX_REST && this.#readMore(read)) {
      // Most often the first window is enough, and text costs time.
      for (let window = 0; window < this.#fill; ) {
        window = Math.min(Math.max(FIRST_WINDOW, 8 * window), this.#fill);
        const found = EVENT_START.exec(latin1(this.#scanner.buffer.subarray(0, window)));
        if (found) return found.index + found[0].length;
      }
    }
    return -1;
  }

  #readMore(read: ReadBytes): boolean {
    this.#scanner.reserve(this.#fill + CHUNK, this.#fill);
    const made = read(this.#scanner.buffer.subarray(this.#fill, this.#fill + CHUNK));
    this.#fill += made;
    this.#length += made;
    return made > 0;
  }

  #keepFrom(from: number): void {
    this.#scanner.buffer.copyWithin(0, from, this.#fill);
    this.#fill -= from;
  }

  #takeBatch(): ShardBatch {
    const { columnsAt, memory } = this.#scanner.exports;
    const { strings: _, tracks: __, ...columns } = this.#scanner.columns();
    const times = new Int32Array(memory.buffer, columnsAt(0), columns.rows * 2);
    const batch = packed({ ...columns, times }, this.#allocate);
    this.#scanner.startBatch();
    return batch;
  }

  /** Whether all of it would be read in the same way after the events before it. */
  #isGood(batches: readonly ShardBatch[], start: number): boolean {
    const counters = this.#scanner.counters();
    if (LIMITS.some((limit) => counters[limit]!.count > 0)) return false;
    const first = batches[0]!;
    const phase = this.#scanner.kinds()[first.kind[0]!]?.phase;
    return first.rows > 0 && first.offsets[0] === start && phase !== undefined && !FLOWS.includes(phase);
  }

  #finish(head: Uint8Array, batches: readonly ShardBatch[]): Shard {
    const scanner = this.#scanner;
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    const newTracks = scanner.trackTokens(this.#tracks).slice();
    this.#tracks = scanner.exports.tracksUsed();
    return {
      isFirst,
      length: this.#length,
      head,
      tail: scanner.buffer.slice(0, this.#fill),
      isAfterEvent: scanner.exports.afterEvent.value !== 0,
      batches,
      newStrings: this.#newStrings(),
      newTracks,
      kinds: scanner.kinds(),
      counters: scanner.counters(),
    };
  }

  #newStrings(): ShardStrings {
    const strings = this.#scanner.stringsFrom(this.#strings);
    this.#strings += strings.lengths.length;
    return strings;
  }
}
