import { ProblemLog } from '../../base/problem.js';
import { ROCM_NAMES, type RocmFigure } from '../../model/telemetry.js';
import { Fields } from '../common/fields.js';
import { asObject, type JsonObject, parseObject } from '../common/json-object.js';
import { LineSplitter, type PieceEnd, type PieceSink } from '../common/line-splitter.js';
import type { ReaderDescriptor, StreamReader } from '../common/reader.js';
import { newTelemetryFaults, TelemetryColumns } from '../common/telemetry/columns.js';
import {
  type Cell,
  clearSample,
  emptySample,
  figure,
  index,
  name,
  pci,
  uuid,
} from '../common/telemetry/sample.js';
import type { TelemetryRead } from '../common/telemetry/telemetry-stream-reader.js';
import { headText } from '../common/text.js';
import { digestTelemetry, TELEMETRY_LINE } from './descriptor.js';

/** What rocm-smi prints with `--json`: an object per call, on one line. A loop that appends them makes a log. */
export const rocmSmiReader: ReaderDescriptor<TelemetryRead> = {
  id: 'dmon',
  title: 'GPU telemetry of AMD (`rocm-smi --json`)',
  sniff: (head) => headText(head).split('\n', MAX_LINES_BEFORE).some(looksLikeCards),
  line: TELEMETRY_LINE,
  create: () => new RocmSmiReader(),
  digest: digestTelemetry,
};

/** Warnings of rocm-smi may come before the object. */
const MAX_LINES_BEFORE = 20;
const looksLikeCards = (line: string) =>
  /^\{"card\d+"\s*:\s*\{|^\{"system"\s*:\s*\{.*"card\d+"\s*:\s*\{/.test(line.trim()) &&
  /"[^"]+\((?:%|W|C)\)"\s*:|clock speed/.test(line);

/** `(1269Mhz)` is `1269MHz`. */
const measured =
  (cell: Cell): Cell =>
  (sample, text) =>
    cell(sample, text.replace(/[()]/g, '').replace(/mhz/i, 'MHz'));

const FIGURES = Object.keys(ROCM_NAMES) as readonly RocmFigure[];

/** Of several names for one figure, the first that is there counts. */
const KEYS: readonly (readonly [key: RegExp, Cell])[] = [
  ...FIGURES.flatMap((of) => ROCM_NAMES[of].map((key) => [key, measured(figure(of))] as const)),
  [/^Card series$/i, name],
  [/^Device Name$/, name],
  [/^PCI Bus$/, pci],
  [/^Unique ID$/, (sample, text) => uuid(sample, text.replace(/^0x/i, ''))],
];

class RocmSmiReader implements StreamReader<TelemetryRead>, PieceSink {
  readonly #faults = newTelemetryFaults();
  readonly #columns = new TelemetryColumns(this.#faults);
  readonly #splitter = new LineSplitter(this);
  readonly #sample = emptySample();
  readonly #problems = new ProblemLog();

  push(chunk: Uint8Array): void {
    this.#splitter.push(chunk);
  }

  finish(): TelemetryRead {
    this.#splitter.finish();
    this.#problems.addAll(this.#faults.list());
    return { telemetry: this.#columns.finish(), problems: this.#problems.list() };
  }

  piece(bytes: Buffer, start: number, end: number, by: PieceEnd, line: number): void {
    const text = bytes.toString('utf8', start, end).trim();
    if (!text.startsWith('{')) return;
    const object = parseObject(text);
    if (object) this.#cards(object, line);
    else this.#faults.add(by === 'newline' ? 'odd-line' : 'cut-sample', line);
  }

  nulBytes(count: number, line: number): void {
    this.#faults.add('nul-bytes', line, count);
  }

  longLine(line: number): void {
    this.#faults.add('long-line', line);
  }

  #cards(object: JsonObject, line: number): void {
    for (const [key, value] of Object.entries(object)) {
      const number = /^card(\d{1,4})$/.exec(key)?.[1];
      const card = asObject(value);
      if (number === undefined) continue;
      if (card) this.#card(number, new Fields(card, this.#problems, 'a card'), line);
      else this.#faults.add('odd-line', line);
    }
  }

  #card(number: string, card: Fields, line: number): void {
    const sample = this.#sample;
    clearSample(sample);
    index(sample, number);
    const keys = Object.keys(card.object).slice(0, MAX_KEYS);
    for (const [pattern, cell] of KEYS) {
      const key = keys.find((k) => pattern.test(k));
      const text = key === undefined ? null : card.text(key);
      if (text !== null) cell(sample, text.trim());
    }
    if (sample.odd) this.#faults.add('odd-value', line);
    this.#columns.append(sample, line);
  }
}
/** `-a` prints about two hundred. */
const MAX_KEYS = 1024;
