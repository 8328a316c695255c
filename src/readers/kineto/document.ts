import type { ProblemLog } from '../../base/problem.js';
import type { Batch } from '../common/trace-rows/batch.js';
import { HeaderReader } from './header-reader.js';
import { brokenEventExtent, garbageExtent, MAX_BROKEN_EVENT, repairEvent } from './repair.js';
import { type EventScanner, SCAN } from './scanner.js';

/** An event that has not ended after this many bytes counts as broken: an unescaped quote may swallow the rest. */
const MAX_EVENT = 4 << 20;
/** An incomplete event larger than this is tried again only when the buffer has doubled. */
const LARGE_EVENT = 256 << 10;
/** Larger chunks go to the scanner in pieces, which bounds its buffer. */
const MAX_PIECE = 4 << 20;

/**
 * The document around the events: `{ "schemaVersion": 1, ..., "traceEvents": [ ... ], ... }` or a bare array. Takes bytes
 * in chunks of any size, gives the events to the scanner and keeps the rest as header fields.
 */
export class TraceDocument {
  readonly #scanner: EventScanner;
  readonly #onBatch: (batch: Batch) => void;
  readonly #problems: ProblemLog;
  readonly #header: HeaderReader;
  #state: 'header' | 'events' | 'done' = 'header';
  /** Unread bytes are buffer[#from, #fill); buffer[0] is at #base in the file. */
  #from = 0;
  #fill = 0;
  #base = 0;
  /** Do not scan again before the buffer holds this much. */
  #tryAgainAt = 0;
  sawEvents = false;

  constructor(scanner: EventScanner, onBatch: (batch: Batch) => void, problems: ProblemLog) {
    this.#scanner = scanner;
    this.#onBatch = onBatch;
    this.#problems = problems;
    this.#header = new HeaderReader(problems);
  }

  push(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; at += MAX_PIECE) this.#pushPiece(chunk.subarray(at, at + MAX_PIECE));
  }

  #pushPiece(piece: Uint8Array): void {
    this.#scanner.reserve(this.#fill + piece.length, this.#fill);
    this.#scanner.buffer.set(piece, this.#fill);
    this.#fill += piece.length;
    if (this.#fill < this.#tryAgainAt) return;
    this.#tryAgainAt = 0;
    this.#run(false);
    this.#keepRest();
    const left = this.#fill;
    if (left > LARGE_EVENT) this.#tryAgainAt = Math.min(2 * left, MAX_EVENT + 1);
  }

  /** Moves the unread bytes to the front. */
  #keepRest(): void {
    if (this.#from === 0) return;
    this.#scanner.buffer.copyWithin(0, this.#from, this.#fill);
    this.#base += this.#from;
    this.#fill -= this.#from;
    this.#from = 0;
  }

  finish(): ReadonlyMap<string, string> {
    this.#run(true);
    this.#noteEnd();
    this.#flush();
    return this.#header.fields;
  }

  #run(final: boolean): void {
    while (this.#state !== 'done' && this.#from < this.#fill) {
      const goOn = this.#state === 'header' ? this.#readHeader() : this.#readEvents(final);
      if (!goOn) return;
    }
    if (this.#state === 'done') this.#skipTail();
  }

  #readHeader(): boolean {
    const { buffer } = this.#scanner;
    const step = this.#header.read(buffer.subarray(this.#from, this.#fill), this.#base + this.#from);
    this.#from += step.consumed;
    if (step.next === 'events') {
      this.#state = 'events';
      this.sawEvents = true;
    } else if (step.next === 'end') this.#state = 'done';
    return step.next !== 'more';
  }

  #readEvents(final: boolean): boolean {
    const status = this.#scanner.scan(this.#from, this.#fill, this.#base + this.#from);
    this.#from = this.#scanner.position;
    switch (status) {
      case SCAN.batchFull:
        this.#flush();
        return true;
      case SCAN.arrayEnd:
        this.#from++;
        this.#state = this.#header.afterEvents() === 'end' ? 'done' : 'header';
        return true;
      case SCAN.malformed:
        return this.#mend(final);
      default:
        return this.#fill - this.#from > MAX_EVENT && this.#mend(final);
    }
  }

  /** Deals with bytes at #from that are not an event. Returns false when it needs more bytes. */
  #mend(final: boolean): boolean {
    const bytes = this.#scanner.buffer.subarray(this.#from, this.#fill);
    const isEvent = bytes[0] === 0x7b;
    const extent = isEvent ? brokenEventExtent(bytes, final) : garbageExtent(bytes, final);
    if (extent.kind === 'need-more') return false;
    if (extent.kind === 'lost' && final) return false; // reported as the end of the file
    // Nothing begins like an event in a megabyte: go on after it.
    const length = extent.kind === 'found' ? extent.length : MAX_BROKEN_EVENT;
    if (isEvent && extent.kind === 'lost') {
      this.#note('endless-event', 'an event above 4 MB, or without an end', 'left out');
      this.#from += length;
    } else if (isEvent) this.#from += this.#mendEvent(bytes.slice(0, length));
    else {
      this.#note('garbage-between-events', 'text between two events that is not an event', 'skipped', length);
      this.#from += length;
    }
    return true;
  }

  /** Returns how many of the bytes were used. */
  #mendEvent(bytes: Uint8Array): number {
    this.#flush(); // the scanner must have room for the event
    const repaired = repairEvent(bytes);
    if (this.#scanner.scanRepaired(repaired.text, this.#base + this.#from)) {
      this.#note(
        'repaired-event',
        'an event with invalid JSON, e.g. an unescaped quote',
        'repaired and used',
      );
      return repaired.length;
    }
    this.#note('dropped-event', 'an event with invalid JSON', 'left out');
    return bytes.length;
  }

  #note(code: string, message: string, consequence: string, count = 1): void {
    this.#problems.add(code, { message, consequence }, { unit: 'byte', at: this.#base + this.#from }, count);
  }

  #flush(): void {
    const batch = this.#scanner.finishBatch();
    // Even without a row there may be a flow, bound to the last row of the batch before.
    if (batch.rows > 0 || batch.side.flows.rows > 0) this.#onBatch(batch);
    this.#scanner.startBatch();
  }

  #skipTail(): void {
    const tail = this.#scanner.buffer.subarray(this.#from, this.#fill);
    const used = this.#problems.has('trailing-data') ? 0 : tail.findIndex((c) => c > 0x20);
    if (used >= 0) {
      this.#from += used;
      this.#note('trailing-data', 'text after the end of the document', 'ignored', tail.length - used);
    }
    this.#from = this.#fill;
  }

  /** The events have begun and not ended. */
  get isCut(): boolean {
    return this.#state === 'events';
  }

  #noteEnd(): void {
    if (this.#state === 'done' || !(this.sawEvents || this.#header.started)) return;
    if (this.#state === 'events' && this.#fill > this.#from) {
      this.#note(
        'truncated-json',
        'the file ends inside an event',
        'that event and all after it are missing',
      );
    } else if (this.#state === 'events') {
      const consequence = 'events after the last one here are missing';
      this.#note('missing-end', 'the file ends before the closing brackets', consequence);
    } else {
      const consequence = this.sawEvents ? 'only fields after the events are missing' : 'it has no events';
      this.#note('truncated-json', 'the file ends outside the events', consequence);
    }
  }
}
