import { type Problem, ProblemLog } from '../../base/problem.js';
import { Category } from '../../model/category.js';
import { StringTable } from '../../model/string-table.js';
import type { KindInfo, TraceData } from '../../model/trace-data.js';
import type { ReaderDescriptor, ReaderOptions, StreamReader, TraceRead } from '../common/reader.js';
import { splitRanks } from '../common/split-ranks.js';
import { headText } from '../common/text.js';
import { TraceBuilder } from '../common/trace-rows/builder.js';
import { noteTables } from '../common/trace-rows/counters.js';
import { CUT_FIELD, parseHeader } from '../common/trace-rows/header.js';
import { TraceDocument } from './document.js';
import { withCategories } from './first-profiler.js';
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
    // V8 takes longer to make a WebAssembly memory, and to free it, than the other scanner takes to read 64 KiB.
    if (options.isSmall) return new KinetoReader(options, new PlainScanner());
    const fast = WasmScanner.create();
    return fast
      ? new KinetoReader(options, fast)
      : new KinetoReader(options, new PlainScanner(), [SLOW_SCANNER]);
  },
  digest: ({ trace, parts }) => ({ of: 'trace', trace, parts }),
};

/** An object, or an array of objects, with the keys of a trace. */
function sniff(head: Uint8Array): boolean {
  const text = headText(head).trimStart();
  if (text.startsWith('['))
    return (
      /^\[\s*(?:\]|$|\{\s*(?:$|\}|"(?:[^"\\]|\\.)*"))/.test(text) &&
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
    const trace = withCategories(this.#builder.finish(tables, header, isCut, this.#problems));
    const parts = splitRanks(trace);
    const refusal = parts === null ? MIXED : otherProducer(trace);
    return {
      trace,
      parts: parts ?? undefined,
      problems: this.#problems.list(),
      ...(refusal === null ? {} : { refusal }),
    };
  }
}

const MIXED =
  'it holds the traces of several processes, and nothing shows which GPU work belongs to which; pass the traces themselves, or merge them with `whyslow merge`';

/**
 * Chrome traces are written by many programs. What a trace of PyTorch's profiler has, and no other has: fields of its header,
 * categories of its events, or names of its operators. The first profilers (torch.autograd.profiler) wrote no header.
 */
const HEADER_FIELDS = [
  'schemaVersion',
  'deviceProperties',
  'computeProperties',
  'distributedInfo',
  'traceName',
  'baseTimeNanoseconds',
  'whyslow',
];
/** Tools that imitate the format copy this one. */
const COPIED_FIELD = 'schemaVersion';
/** Every event has a category, and PyTorch’s profiler writes none of them. */
const hasOthersOnly = ({ kinds }: TraceData): boolean =>
  kinds.every((k) => k.events === 0 || k.phase !== 'X' || isOthers(k)) && kinds.some((k) => k.phase === 'X');
const isOthers = ({ category, categoryName }: KindInfo): boolean =>
  category === Category.other && categoryName !== '' && categoryName !== 'Trace';
/** Categories whose names other programs use too: `kernel` may be that of the operating system. */
const COMMON_NAMES = new Set('kernel Kernel Operator Runtime Memcpy Memset overhead'.split(' '));
const COMMON_CATEGORIES: readonly Category[] = [Category.other, Category.flow, Category.span];
const TORCH_NAME =
  /^"(?:aten|autograd|c10d|torch|prims|profiler|nccl|record_param_comms|torch_npu)::|^"(?:ProfilerStep[#*]|autograd::|nn\.Module: |Optimizer\.(?:step|zero_grad)#|enumerate\(DataLoader\)|## Call CompiledFxGraph|CPU functions"|CUDA functions")/;

/** What the file is if PyTorch's profiler did not write it, inside a sentence. Null: it did, or the file has no events. */
export function otherProducer(trace: TraceData): string | null {
  if (trace.rows === 0) return null;
  const fieldsOfTorch = HEADER_FIELDS.filter((key) => Object.hasOwn(trace.header.rest, key));
  const known = trace.kinds.filter((k) => k.events > 0 && !COMMON_CATEGORIES.includes(k.category));
  if (
    fieldsOfTorch.length > 0 &&
    !(fieldsOfTorch.every((key) => key === COPIED_FIELD) && hasOthersOnly(trace))
  )
    return null;
  if (known.some((k) => !COMMON_NAMES.has(k.categoryName))) return null;
  // Kernels with streams and grids, without anything else: a trace of a GPU alone.
  if (known.length > 0 && trace.gpu.row.length > 0) return null;
  const texts = textsOf(trace);
  if (texts.some((text) => TORCH_NAME.test(text))) return null;
  const fields = Object.entries(trace.header.rest).map(
    ([key, text]) => `"${key}": ${text.slice(0, MAX_FIELD)}`,
  );
  const all = [...fields, ...texts].join('\n');
  const producer = PRODUCERS.find(([pattern]) => pattern.test(all))?.[1];
  const what = producer
    ? `, probably of ${producer}, and`
    : ` of another program (it has ${someNames(trace)}),`;
  return `it is a Chrome trace${what} not of PyTorch’s profiler; pass a trace that torch.profiler wrote with export_chrome_trace("trace.json.gz")`;
}

/** What their process names, categories, events or fields outside the events show. */
const PRODUCERS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/^"viztracer_metadata"/m, 'VizTracer'],
  [
    /^"\/(?:device|host):(?:TPU|GPU|CPU)|xprof|tensorflow|XLA (?:Ops|Modules)|\bjax\b/im,
    'XProf (TensorFlow, JAX)',
  ],
  [/Core\d+ CTA\d+|triton_|\bproton\b/im, 'Proton, Triton’s profiler'],
  [/^".* Cmpt (?:Exec|Prep)"$/m, 'an IBM AIU accelerator'],
  [/^"(?:CPU HIP API|CPU HSA API|GPU\d+ Compute|rocprof\w*)"?/im, 'rocprof'],
  [/^"Ascend Hardware"$/m, 'msprof, Ascend’s profiler'],
  [/^"(?:model_loading_\w+|session_initialization)"$/m, 'ONNX Runtime'],
  [/^"(?:task::|ray::)|^"ray_/m, 'Ray'],
  [/^"(?:CrBrowserMain|CrRendererMain|devtools\.timeline)/m, 'Chrome'],
  [/^"(?:ExecuteCompiler|Total ExecuteCompiler|Total Frontend)"$/m, 'clang’s -ftime-trace'],
  [/bazel/i, 'Bazel'],
  [/"systemTraceEvents"|ftrace|\bperf\b.*sched|ebpf|bpftrace/i, 'ftrace, perf or eBPF'],
  [
    /^"(?:cu|cuda|hip)(?:Mem|Launch|Malloc|Module|Stream|Event|Ctx)\w*"$/m,
    'a tool that traces calls of CUDA (eBPF or a preloaded library)',
  ],
  [/^"(?:\[?CUDA |\[?MEMCPY\b|void )/im, 'another tool that traces GPU kernels'],
];
const MAX_FIELD = 4096;
/** A file of another program is recognized by its first names. */
const MAX_TEXTS = 20_000;
const MAX_TEXT = 200;

/** Names, categories, processes and kept arguments, with their quotes. */
function textsOf({ strings }: TraceData): readonly string[] {
  const table = new StringTable(strings);
  const count = Math.min(strings.starts.length - 1, MAX_TEXTS);
  return Array.from({ length: count }, (_, id) =>
    Buffer.from(table.raw(id).subarray(0, MAX_TEXT)).toString('latin1'),
  );
}

/** The first two names of events, shortened. */
function someNames({ name, strings, rows }: TraceData): string {
  const table = new StringTable(strings);
  const names = new Set<string>();
  for (let row = 0; row < rows && names.size < 2; row++) {
    const text = table.text(name[row]!).slice(0, 40);
    if (text !== '' && !/^(?:process|thread)_(?:name|labels|sort_index)$/.test(text)) names.add(`"${text}"`);
  }
  return names.size === 0 ? 'no names' : `events such as ${[...names].join(' and ')}`;
}
