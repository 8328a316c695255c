import { type Problem, ProblemLog } from '../../base/problem.js';
import { StringTable } from '../../model/string-table.js';
import type { ReaderDescriptor, ReaderOptions, ReadResult, StreamReader } from '../common/reader.js';
import { headText } from '../common/text.js';
import { TraceBuilder } from './builder.js';
import { COUNTER_PROBLEMS } from './counters.js';
import { TraceDocument } from './document.js';
import { parseHeader } from './header.js';
import { JsScanner } from './js-scanner.js';
import type { EventScanner, ScannerTables } from './scanner.js';
import type { Shard } from './shard.js';
import { ShardJoiner } from './shard-joiner.js';
import { WasmScanner } from './wasm-scanner.js';

/** PyTorch profiler traces: Chrome trace JSON as Kineto writes it. */
export const kinetoReader: ReaderDescriptor = {
  id: 'kineto',
  title: 'a PyTorch profiler trace (JSON with "traceEvents", or an array of events)',
  sniff,
  create: (options) => {
    const fast = WasmScanner.create();
    return fast
      ? new KinetoReader(options, fast)
      : new KinetoReader(options, new JsScanner(), [SLOW_SCANNER]);
  },
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

/** Takes shards, too. Null where they cannot be joined. */
export function createJoiningReader(options: ReaderOptions): KinetoReader | null {
  const scanner = WasmScanner.create();
  return scanner && new KinetoReader(options, scanner, [], new ShardJoiner(scanner));
}

export class KinetoReader implements StreamReader {
  /** The scanner has its own copy. */
  readonly keepsNothing = true;
  readonly #problems = new ProblemLog();
  readonly #scanner: EventScanner;
  readonly #builder: TraceBuilder;
  readonly #document: TraceDocument;

  readonly #joiner: ShardJoiner | null;

  constructor(
    options: ReaderOptions,
    scanner: EventScanner,
    problems: readonly Problem[] = [],
    joiner: ShardJoiner | null = null,
  ) {
    this.#problems.addAll(problems);
    this.#joiner = joiner;
    this.#scanner = scanner;
    this.#builder = new TraceBuilder(options.progress ?? (() => Number.NaN));
    this.#document = new TraceDocument(scanner, (batch) => this.#builder.append(batch), this.#problems);
  }

  push(chunk: Uint8Array): void {
    this.#document.push(chunk);
  }

  /** Instead of pushing the bytes of this part of the file. False: start again, and push all of them. */
  join(shard: Shard, by: number): boolean {
    return this.#joiner !== null && this.#document.join(shard, by, this.#joiner);
  }

  finish(): ReadResult {
    const header = parseHeader(this.#document.finish(), this.#problems);
    const tables = this.#scanner.finish();
    noteCounters(tables, this.#problems);
    noteOddStrings(tables, this.#problems);
    if (!this.#document.sawEvents) {
      const text = { message: 'there is no "traceEvents" array', consequence: 'nothing to analyse' };
      this.#problems.add('no-trace-events', text);
    }
    const trace = this.#builder.finish(tables, header, this.#document.isCut, this.#problems);
    return { kind: 'kineto', trace, problems: this.#problems.list() };
  }
}

function noteCounters(tables: ScannerTables, problems: ProblemLog): void {
  COUNTER_PROBLEMS.forEach((p, i) => {
    const { count, first } = tables.counters[i] ?? { count: 0, first: 0 };
    problems.add(p.code, p, { unit: 'byte', at: first }, count);
  });
}

/** Reports texts with control characters or broken UTF-8, of those that were kept. */
function noteOddStrings(tables: ScannerTables, problems: ProblemLog): void {
  const strict = new TextDecoder('utf-8', { fatal: true });
  const strings = new StringTable({ bytes: tables.stringBytes, starts: tables.stringStarts });
  for (const { id, offset } of tables.oddStrings) {
    const raw = strings.raw(id);
    const first = { unit: 'byte', at: offset } as const;
    // Lists and objects may span lines; a string may not.
    if (strings.isString(id) && raw.some((c) => c < 0x20)) problems.add('control-character', CONTROL, first);
    try {
      strict.decode(raw);
    } catch {
      problems.add('invalid-utf8', INVALID_UTF8, first);
    }
  }
}
const CONTROL = {
  message: 'a text with raw control characters',
  consequence: 'kept; shown escaped',
};
const INVALID_UTF8 = {
  message: 'a text that is not valid UTF-8',
  consequence: 'the bad bytes show as U+FFFD',
};
