import type { EventLog } from '../../model/event-log.js';
import { type JsonObject, parseObject } from '../common/json-object.js';
import { LineSplitter, type PieceEnd, type PieceSink } from '../common/line-splitter.js';
import type { ReaderDescriptor, ReadModel, StreamReader } from '../common/reader.js';
import { emptyRecord, fillRecord, toHeader } from './event-record.js';
import { newEventFaults } from './faults.js';
import { RunBook } from './runs.js';

interface EventsRead extends ReadModel {
  readonly log: EventLog;
}

/** Where a record or header begins. Inside a JSON text its quotes would be escaped. */
const OBJECT_START = /(?=\{\s*"(?:name|whyslow)")/;
const MAX_PIECES = 16;

/**
 * Reads an events file with one JSON.parse per line. A scanner over the bytes was tried and dropped: reading 1.2 M rows was
 * 1.4 times faster with 17-digit durations as lmms-engine writes them (1392 to 987 ns a row, best of five) and 1.65 times
 * with 4 decimals, for 160 more lines of code and files of a few thousand rows.
 */
class EventsStreamReader implements StreamReader<EventsRead>, PieceSink {
  readonly #faults = newEventFaults();
  readonly #book = new RunBook(this.#faults);
  readonly #splitter = new LineSplitter(this);
  readonly #record = emptyRecord();
  /** Line of an incomplete piece followed only by NUL bytes so far: cut if the file ends there, broken if more comes. */
  #tornLine = 0;

  push(chunk: Uint8Array): void {
    this.#splitter.push(chunk);
  }

  finish(): EventsRead {
    this.#splitter.finish();
    if (this.#tornLine > 0) this.#faults.add('cut-last-line', this.#tornLine);
    return { log: { runs: this.#book.finish() }, problems: this.#faults.list() };
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
    this.#faults.add('nul-bytes', line, count);
  }

  longLine(line: number): void {
    this.#settleTorn();
    this.#faults.add('long-line', line);
  }

  #object(object: JsonObject, length: number, line: number): void {
    if (object.whyslow !== undefined) this.#book.header(toHeader(object, length, this.#faults, line), line);
    else if (fillRecord(this.#record, object, this.#faults, line)) this.#book.record(this.#record, line);
  }

  #broken(text: string, by: PieceEnd, line: number): void {
    // Nothing is salvaged from a last line: one cut inside a header could end in what looks like a record.
    if (by !== 'newline') {
      this.#tornLine = line;
      return;
    }
    this.#faults.add('broken-line', line);
    // A process died while writing a record and the next one appended to it, or two wrote at once: keep complete objects.
    const pieces = text.split(OBJECT_START, MAX_PIECES);
    for (const object of pieces.map(parseObject)) if (object) this.#object(object, text.length, line);
  }

  #settleTorn(): void {
    if (this.#tornLine === 0) return;
    this.#faults.add('broken-line', this.#tornLine);
    this.#tornLine = 0;
  }
}

/** `cuda_events_rank_<r>.jsonl`, as whyslow and lmms-engine write it. */
export const eventsReader: ReaderDescriptor<EventsRead> = {
  id: 'events',
  title: 'an event log (JSON lines with name, step, rank and duration_ms)',
  line: { one: 'event log', many: 'event logs', counts: 'records' },
  sniff,
  create: () => new EventsStreamReader(),
  digest: ({ log }) => ({ of: 'log', log }),
};

/** Lines that may come before the first record: NUL padding, the tail of a cut record, a stray print. */
const MAX_BAD_LINES = 5;
/** A header that is longer than the bytes sniffed. */
const CUT_HEADER = /^\{\s*"whyslow"\s*:/;

/** True when the first line that is a JSON object is a header or a record of an event log. */
function sniff(head: Uint8Array): boolean {
  const text = Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString('utf8');
  let bad = 0;
  for (const piece of text.split(/[\n\0]+/)) {
    const line = piece.trim();
    if (line === '') continue;
    const object = parseObject(line);
    if (object !== null) {
      // An event of a Chrome trace has a `ph`, and may have any other field.
      if ('traceEvents' in object || 'ph' in object) return false;
      return 'whyslow' in object || ('name' in object && 'duration_ms' in object);
    }
    if (CUT_HEADER.test(line)) return true;
    if (++bad > MAX_BAD_LINES) return false;
  }
  return false;
}
