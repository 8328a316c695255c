import { type Problem, ProblemLog } from '../../base/problem.js';
import type { ReaderDescriptor, ReaderOptions, StreamReader, TraceRead } from '../common/reader.js';
import { headText } from '../common/text.js';
import { TraceBuilder } from '../common/trace-rows/builder.js';
import { CUT_FIELD, parseHeader } from '../common/trace-rows/header.js';
import { noteTables } from '../common/trace-rows/note-tables.js';
import { TraceDocument } from './document.js';
import { otherProducer } from './other-producers.js';
import { PlainScanner } from './plain-scanner.js';
import type { EventScanner } from './scanner.js';
import { WasmScanner } from './wasm-scanner.js';

/** PyTorch profiler traces: Chrome trace JSON as Kineto writes it. */
export const kinetoReader: ReaderDescriptor<TraceRead> = {
  id: 'kineto',
  title: 'a PyTorch profiler trace (JSON with "traceEvents", or an array of events)',
  line: { one: 'trace', many: 'traces', counts: 'events', isTrace: true },
  sniff,
  create: (options) => {
    const fast = WasmScanner.create();
    return fast
      ? new KinetoReader(options, fast)
      : new KinetoReader(options, new PlainScanner(), [SLOW_SCANNER]);
  },
  digest: ({ trace }) => ({ of: 'trace', trace }),
};

/** An object, or an array of objects, with the keys of a trace. */
function sniff(head: Uint8Array): boolean {
  const text = headText(head).trimStart();
  if (text.startsWith('['))
    return (
      /^\[\s*(?:\]|$|\{\s*(?:$|"(?:[^"\\]|\\.)*"))/.test(text) &&
      (/"ph"\s*:/.test(text) || /^\[\s*(?:\]|\{?\s*$)/.test(text))
    );
  return text.startsWith('{') && KNOWN_KEYS.test(text);
}
/** Every trace seen has one of these in its first 64 KiB. */
const KNOWN_KEYS =
  /"(?:traceEvents|schemaVersion|deviceProperties|distributedInfo|traceName|displayTimeUnit|baseTimeNanoseconds)"\s*:/;

const SLOW_SCANNER: Problem = {
  code: 'slow-scanner',
  count: 1,
  message:
    'the fast scanner could not start: WebAssembly is off, or too little address space or too few open files are left',
  consequence: 'reading takes several times as long; the result is the same',
  first: null,
};

export class KinetoReader implements StreamReader<TraceRead> {
  /** The scanner has its own copy. */
  readonly keepsNothing = true;
  readonly #problems = new ProblemLog();
  readonly #scanner: EventScanner;
  readonly #builder: TraceBuilder;
  readonly #document: TraceDocument;

  constructor(options: ReaderOptions, scanner: EventScanner, problems: readonly Problem[] = []) {
    this.#problems.addAll(problems);
    this.#scanner = scanner;
    this.#builder = new TraceBuilder(options.progress ?? (() => Number.NaN));
    this.#document = new TraceDocument(scanner, (batch) => this.#builder.append(batch), this.#problems);
  }

  push(chunk: Uint8Array): void {
    this.#document.push(chunk);
  }

  finish(): TraceRead {
    const header = parseHeader(this.#document.finish(), this.#problems);
    const tables = this.#scanner.finish();
    noteTables(tables, this.#problems);
    if (!this.#document.sawEvents) {
      const text = { message: 'there is no "traceEvents" array', consequence: 'nothing to analyze' };
      this.#problems.add('no-trace-events', text);
    }
    const isCut = this.#document.isCut || Object.hasOwn(header.rest, CUT_FIELD);
    const trace = this.#builder.finish(tables, header, isCut, this.#problems);
    const refusal = otherProducer(trace);
    return { trace, problems: this.#problems.list(), ...(refusal === null ? {} : { refusal }) };
  }
}
