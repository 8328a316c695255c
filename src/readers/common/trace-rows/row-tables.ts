import { decodeToken } from '../../../model/string-table.js';
import { sameBytes } from '../text.js';
import type { RawKind, ScannerTables } from './batch.js';
import { COUNTER } from './counters.js';
import { MAX_TRACKS } from './schema.js';

/** The same limits as in wasm/assembly/strings.ts and kinds.ts. */
const MAX_STRING = 65536;
const MAX_IDS = 4 << 20;
const MAX_BYTES = 256 << 20;
const MAX_KINDS = 255;

/** Counts what was tolerated, with the offset of the event where it was first seen. */
export class Counters {
  readonly #counts = new Float64Array(16);
  readonly #firsts = new Float64Array(16);
  /** Of the event being read. They count once the event is complete: a chunk may end inside it. */
  readonly #pending = new Float64Array(16);
  #anyPending = false;
  eventOffset = 0;

  begin(eventOffset: number): void {
    this.eventOffset = eventOffset;
    if (!this.#anyPending) return;
    this.#pending.fill(0);
    this.#anyPending = false;
  }

  count(what: number): void {
    this.#pending[what]!++;
    this.#anyPending = true;
  }

  commit(): void {
    if (!this.#anyPending) return;
    this.#pending.forEach((n, i) => {
      if (n > 0 && this.#counts[i] === 0) this.#firsts[i] = this.eventOffset;
      this.#counts[i]! += n;
    });
  }

  list(): ScannerTables['counters'] {
    return Array.from(this.#counts, (count, i) => ({ count, first: this.#firsts[i]! }));
  }
}

/** Interns raw JSON tokens with their quotes, so that the number 5 and the string "5" differ. */
export class Strings {
  readonly #counters: Counters;
  #slots = new Int32Array(1 << 13); // id, or 0
  #hashes = new Int32Array(1 << 12); // by id
  #starts = new Uint32Array(1 << 12); // token id is bytes[starts[id], starts[id + 1])
  #bytes = new Uint8Array(1 << 16);
  readonly #odd: { id: number; offset: number }[] = [];
  /** Ids given so far, including 0 for "none". */
  count = 1;

  constructor(counters: Counters) {
    this.#counters = counters;
  }

  /** The id of b[from, to). */
  intern(b: Uint8Array, from: number, to: number): number {
    if (to - from > MAX_STRING) {
      this.#counters.count(COUNTER.longString);
      to = from + MAX_STRING;
    }
    const h = hash(b, from, to);
    const mask = this.#slots.length - 1;
    for (let slot = h & mask; ; slot = (slot + 1) & mask) {
      const id = this.#slots[slot]!;
      if (id === 0) return this.#add(b, from, to, h, slot);
      if (this.#hashes[id] === h && this.#same(id, b, from, to)) return id;
    }
  }

  #same(id: number, b: Uint8Array, from: number, to: number): boolean {
    const start = this.#starts[id]!;
    const stop = this.#starts[id + 1]!;
    return stop - start === to - from && sameBytes(this.#bytes, start, stop, b, from);
  }

  #add(b: Uint8Array, from: number, to: number, hash: number, slot: number): number {
    const start = this.#starts[this.count]!;
    if (this.count >= MAX_IDS || start + to - from > MAX_BYTES) {
      this.#counters.count(COUNTER.stringsFull);
      return 0;
    }
    const id = this.count++;
    if (id + 2 > this.#starts.length) {
      this.#starts = grown(this.#starts, new Uint32Array(id * 2 + 2));
      this.#hashes = grown(this.#hashes, new Int32Array(id * 2 + 2));
    }
    const stop = start + to - from;
    if (stop > this.#bytes.length)
      this.#bytes = grown(this.#bytes, new Uint8Array(Math.min(stop * 2, MAX_BYTES)));
    this.#bytes.set(b.subarray(from, to), start);
    this.#starts[id + 1] = stop;
    this.#hashes[id] = hash;
    this.#slots[slot] = id;
    if (isOdd(b, from, to)) this.#odd.push({ id, offset: this.#counters.eventOffset });
    if (this.count * 2 > this.#slots.length) this.#rehash();
    return id;
  }

  #rehash(): void {
    const slots = new Int32Array(this.#slots.length * 2);
    const mask = slots.length - 1;
    for (let id = 1; id < this.count; id++) {
      let slot = this.#hashes[id]! & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = id;
    }
    this.#slots = slots;
  }

  /** The text of a token, while the file is still being read. */
  text(id: number): string {
    return decodeToken(this.#bytes.subarray(this.#starts[id], this.#starts[id + 1]));
  }

  tables(): Pick<ScannerTables, 'stringBytes' | 'stringStarts' | 'oddStrings'> {
    const stringStarts = this.#starts.slice(0, this.count + 1);
    return {
      stringBytes: this.#bytes.slice(0, stringStarts[this.count]),
      stringStarts,
      oddStrings: this.#odd,
    };
  }
}

function grown<A extends Uint8Array | Uint32Array | Int32Array>(old: A, to: A): A {
  to.set(old);
  return to;
}

/** Four bytes at a time, because each multiplication waits for the one before. */
function hash(b: Uint8Array, from: number, to: number): number {
  let h = to - from;
  let i = from;
  for (; i + 4 <= to; i += 4) {
    h = Math.imul(h ^ (b[i]! | (b[i + 1]! << 8) | (b[i + 2]! << 16) | (b[i + 3]! << 24)), 0x9e3779b1);
    h ^= h >>> 15;
  }
  for (; i < to; i++) h = Math.imul(h ^ b[i]!, 0x9e3779b1);
  return h ^ (h >>> 15);
}

function isOdd(b: Uint8Array, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if (b[i]! < 0x20 || b[i]! > 0x7e) return true;
  return false;
}

/** A kind is a phase with a category. All kinds beyond the limit share number MAX_KINDS. */
export class Kinds {
  readonly #counters: Counters;
  readonly #byKey = new Map<number, number>();
  readonly #phases: number[] = [];
  readonly #categories: number[] = [];
  readonly #events = new Float64Array(MAX_KINDS + 1);
  readonly #folded = new Float64Array(MAX_KINDS + 1);

  constructor(counters: Counters) {
    this.#counters = counters;
  }

  /** Counts one more event; returns the number of its kind. */
  countEvent(phase: number, category: number): number {
    const key = category * 256 + phase;
    const kind = this.#byKey.get(key) ?? this.#add(key, phase, category);
    this.#events[kind]!++;
    return kind;
  }

  countFolded(kind: number): void {
    this.#folded[kind]!++;
  }

  #add(key: number, phase: number, category: number): number {
    if (this.#phases.length === MAX_KINDS) {
      this.#counters.count(COUNTER.kindsFull);
      return MAX_KINDS;
    }
    const kind = this.#phases.push(phase) - 1;
    this.#categories.push(category);
    this.#byKey.set(key, kind);
    return kind;
  }

  list(): RawKind[] {
    const used = this.#events[MAX_KINDS]! > 0 ? MAX_KINDS + 1 : this.#phases.length;
    return Array.from({ length: used }, (_, k) => ({
      phase: String.fromCharCode(this.#phases[k] ?? 0),
      category: this.#categories[k] ?? 0,
      events: this.#events[k]!,
      folded: this.#folded[k]!,
    }));
  }
}

/** A track is a pid with a tid. All tracks beyond the limit share number MAX_TRACKS. */
export class Tracks {
  readonly #counters: Counters;
  readonly #byTid = new Map<number, Map<number, number>>();
  readonly #list: { pid: number; tid: number }[] = [];
  // The track asked for last: events of one track come in runs.
  #pid = -1;
  #tid = -1;
  #track = -1;

  constructor(counters: Counters) {
    this.#counters = counters;
  }

  get count(): number {
    return this.#list.length;
  }

  of(pid: number, tid: number): number {
    if (pid === this.#pid && tid === this.#tid) return this.#track;
    this.#pid = pid;
    this.#tid = tid;
    this.#track = this.#byTid.get(tid)?.get(pid) ?? this.#add(pid, tid);
    return this.#track;
  }

  #add(pid: number, tid: number): number {
    if (this.#list.length === MAX_TRACKS) {
      this.#counters.count(COUNTER.tracksFull);
      return MAX_TRACKS;
    }
    const track = this.#list.push({ pid, tid }) - 1;
    const ofTid = this.#byTid.get(tid);
    if (ofTid) ofTid.set(pid, track);
    else this.#byTid.set(tid, new Map([[pid, track]]));
    return track;
  }

  list(): ScannerTables['tracks'] {
    return this.#list;
  }
}
