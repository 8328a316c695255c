import type { EventLogHeader } from '../../model/event-log.js';
import { type JsonObject, parseObject } from '../common/json-object.js';
import { LineSplitter, type PieceEnd, type PieceSink } from '../common/line-splitter.js';
import { type EventRecord, emptyRecord, fillRecord, toHeader } from './event-record.js';
import { type EventFaults, newEventFaults } from './faults.js';

/** Who gets the lines. A record is valid only during the call. */
export interface EventSink {
  header(header: EventLogHeader, line: number): void;
  record(record: EventRecord, line: number): void;
}

/** Where a record or header begins. Inside a JSON text its quotes would be escaped. */
const OBJECT_START = /(?=\{\s*"(?:name|whyslow)")/;
const MAX_PIECES = 16;

/**
 * Reads the lines of an events file, with one JSON.parse per line. A scanner over the bytes was tried and dropped: reading 1.2 M rows was
 * 1.4 times faster with 17-digit durations as lmms-engine writes them (1392 to 987 ns a row, best of five) and 1.65 times
 * with 4 decimals, for 160 more lines of code and files of a few thousand rows.
 */
export class EventLines implements PieceSink {
  readonly faults: EventFaults = newEventFaults();
  readonly #sink: EventSink;
  readonly #splitter = new LineSplitter(this);
  readonly #record = emptyRecord();
  /** Line of an incomplete piece followed only by NUL bytes so far: cut if the file ends there, broken if more comes. */
  #tornLine = 0;

  constructor(sinkOf: (faults: EventFaults) => EventSink) {
    this.#sink = sinkOf(this.faults);
  }

  push(chunk: Uint8Array): void {
    this.#splitter.push(chunk);
  }

  finish(): void {
    this.#splitter.finish();
    if (this.#tornLine > 0) this.faults.add('cut-last-line', this.#tornLine);
  }

  piece(bytes: Buffer, start: number, end: number, by: PieceEnd, line: number): void {
    // `trim` also removes the CR of CRLF and the BOM.
    const text = bytes.toString('utf8', start, end).trim();
    if (text === '') return;
    this.#settleTorn();
    const object = parseObject(text);
    if (object !== null) this.#object(object, text.length, line);
    else this.#broken(text, by, line);
  }

  nulBytes(count: number, line: number): void {
    this.faults.add('nul-bytes', line, count);
  }

  longLine(line: number): void {
    this.#settleTorn();
    this.faults.add('long-line', line);
  }

  #object(object: JsonObject, length: number, line: number): void {
    if (object.whyslow !== undefined) this.#sink.header(toHeader(object, length, this.faults, line), line);
    else if (fillRecord(this.#record, object, this.faults, line)) this.#sink.record(this.#record, line);
  }

  #broken(text: string, by: PieceEnd, line: number): void {
    // Nothing is salvaged from a last line: one cut inside a header could end in what looks like a record.
    if (by !== 'newline') {
      this.#tornLine = line;
      return;
    }
    this.faults.add('broken-line', line);
    // A process died while writing a record and the next one appended to it, or two wrote at once: keep complete objects.
    const pieces = text.split(OBJECT_START, MAX_PIECES);
    for (const object of pieces.map(parseObject)) if (object) this.#object(object, text.length, line);
  }

  #settleTorn(): void {
    if (this.#tornLine === 0) return;
    this.faults.add('broken-line', this.#tornLine);
    this.#tornLine = 0;
  }
}
