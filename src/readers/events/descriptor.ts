import type { EventLog } from '../../model/event-log.js';
import { parseObject } from '../common/json-object.js';
import type { ReaderDescriptor, ReadModel, StreamReader } from '../common/reader.js';
import { EventLines } from './event-lines.js';
import { RunBook } from './runs.js';

interface EventsRead extends ReadModel {
  readonly log: EventLog;
}

class EventsStreamReader implements StreamReader<EventsRead> {
  #book!: RunBook;
  readonly #lines = new EventLines((faults) => {
    this.#book = new RunBook(faults);
    return this.#book;
  });

  push(chunk: Uint8Array): void {
    this.#lines.push(chunk);
  }

  finish(): EventsRead {
    this.#lines.finish();
    return { log: { runs: this.#book.finish() }, problems: this.#lines.faults.list() };
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
