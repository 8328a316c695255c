import type { ProblemText } from '../../base/problem.js';
import type { Incident } from '../../model/incident.js';
import { FaultCounter } from '../common/fault-counter.js';
import { LineSplitter, type PieceEnd, type PieceSink } from '../common/line-splitter.js';
import type { ReaderDescriptor, ReadModel, StreamReader } from '../common/reader.js';
import { headText } from '../common/text.js';
import { incidentIn, latestOf } from './incident-line.js';

interface IncidentsRead extends ReadModel {
  readonly incidents: readonly Incident[];
}

/** What `whyslow watch` writes to OUT/incidents.jsonl. */
export const incidentsReader: ReaderDescriptor<IncidentsRead> = {
  id: 'incidents',
  title: 'incidents that `whyslow watch` found (OUT/incidents.jsonl)',
  line: { one: 'list of incidents', many: 'lists of incidents', counts: 'incidents' },
  sniff: (head) => /^\s*\{\s*"schema"\s*:\s*"whyslow\/incident\/1"/.test(headText(head)),
  create: () => new IncidentsReader(),
  digest: ({ incidents }) => ({ of: 'run', events: incidents.length, evidence: { incidents } }),
};

/** A run has a few dozen. */
const MOST_LINES = 20_000;
/** Of all lines together. */
const MOST_CHARACTERS = 32 << 20;

class IncidentsReader implements StreamReader<IncidentsRead>, PieceSink {
  readonly #faults = new FaultCounter(FAULTS, 'line');
  readonly #splitter = new LineSplitter(this);
  readonly #lines: string[] = [];
  #characters = 0;

  push(chunk: Uint8Array): void {
    this.#splitter.push(chunk);
  }

  finish(): IncidentsRead {
    this.#splitter.finish();
    return { incidents: latestOf(this.#lines), problems: this.#faults.list() };
  }

  piece(bytes: Buffer, start: number, end: number, by: PieceEnd, line: number): void {
    const text = bytes.toString('utf8', start, end);
    if (text.trim() === '') return;
    this.#characters += text.length;
    const isRoom = this.#lines.length < MOST_LINES && this.#characters <= MOST_CHARACTERS;
    if (!isRoom) this.#faults.add('too-many-lines', line);
    else if (incidentIn(text) === null) this.#faults.add(by === 'end' ? 'cut-line' : 'odd-line', line);
    else this.#lines.push(text);
  }

  nulBytes(count: number, line: number): void {
    this.#faults.add('nul-bytes', line, count);
  }

  longLine(line: number): void {
    this.#faults.add('odd-line', line);
  }
}

const FAULTS = {
  'odd-line': { message: 'A line is not an incident.', consequence: 'It is left out.' },
  'cut-line': { message: 'The last line is incomplete.', consequence: 'It is left out.' },
  'nul-bytes': {
    message: 'There are NUL bytes in the file, as after a machine crash; counted in bytes.',
    consequence: 'They are left out.',
  },
  'too-many-lines': {
    message: 'There are more than 20,000 lines, or 32 MiB of them.',
    consequence: 'Later ones are left out.',
  },
} as const satisfies Record<string, ProblemText>;
