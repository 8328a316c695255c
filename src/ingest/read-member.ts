import type { Problem } from '../base/problem.js';
import type { Content } from '../readers/common/content.js';
import type { ReaderDescriptor, StreamReader } from '../readers/common/reader.js';
import { findReader } from '../readers/registry.js';
import type { Member } from '../sources/open.js';
import { type NameHints, rankFromPath } from '../sources/rank-name.js';

/** Files of other tools, by their endings: what they are, and what to do instead. */
const BY_ENDING: readonly (readonly [ending: RegExp, text: string])[] = [
  [
    /\.(?:nsys-rep|qdrep|qdstrm)$/i,
    'it is a recording of Nsight Systems: export it (`nsys export --type sqlite FILE`) and pass the .sqlite file',
  ],
  [/\.ncu-rep$/i, 'it is a report of Nsight Compute: `ncu --import FILE` shows it'],
  [/\.xplane\.pb$/i, 'it is a profile of XLA, not of PyTorch'],
];

/** By their first bytes. */
const BY_CONTENT: readonly (readonly [test: (head: Uint8Array, text: string) => boolean, text: string])[] = [
  [(head) => head.length === 0, 'it is empty'],
  [
    (_, text) => /^\s*<(?:!doctype|html|\?xml)/i.test(text),
    'it is a web page (HTML), perhaps a saved login page',
  ],
  [(_, text) => /^version https:\/\/git-lfs/.test(text), 'it is a Git LFS pointer: run `git lfs pull`'],
  [
    (head, text) => isPickle(head) && /segments|device_traces/.test(text),
    'it is a memory snapshot of torch, which shows what holds memory, not time: open it at pytorch.org/memory_viz',
  ],
  [isPickle, 'it is a Python pickle, which can run any code when it is read'],
  [
    (_, text) => /^\s*-{8,}[ -]*\n[^\n]*\bSelf (?:CPU|CUDA)/.test(text),
    'it is a table of key_averages(): pass the trace itself, written with export_chrome_trace("trace.json.gz")',
  ],
  [isBinary, 'it is binary'],
];

/** What a file is that no reader knows: `it is empty`. For error messages. */
export function describeFile(head: Uint8Array, path: string): string {
  const text = Buffer.from(head).toString('utf8');
  const known =
    BY_ENDING.find(([ending]) => ending.test(path)) ?? BY_CONTENT.find(([test]) => test(head, text));
  if (known) return known[1];
  const begin = (text.trimStart().split(/[\r\n]/, 1)[0] ?? '').slice(0, 60);
  return `it begins with ${begin.includes('"') ? begin : `"${begin}"`}`;
}

/** Protocols 2 to 5 begin with these bytes. */
function isPickle(head: Uint8Array): boolean {
  return head[0] === 0x80 && head[1]! >= 2 && head[1]! <= 5;
}

function isBinary(head: Uint8Array): boolean {
  const control = head.reduce((n, c) => n + Number(c < 9 || (c > 13 && c < 32) || c === 127), 0);
  return control > head.length / 20;
}

/** Readers recognize a format by this many bytes. */
export const HEAD_BYTES = 65536;

/** One file, or one member of an archive, as its reader has read it. */
export interface Read {
  /** The file that was opened. */
  readonly file: string;
  /** For users: `archive.tar.gz!inner.json` for a member of an archive. */
  readonly path: string;
  /** The format, by the id of its reader; `unknown`: no reader recognizes it. */
  readonly kind: string;
  readonly hints: NameHints;
  readonly storedBytes: number;
  readonly decodedBytes: number;
  readonly encodings: readonly string[];
  /** Faults of the bytes and of the format. */
  readonly problems: readonly Problem[];
  readonly content: Content | UnknownContent;
}

interface UnknownContent {
  readonly of: 'nothing';
  /** For the error message: `it begins with "trial_name"`. */
  readonly looksLike: string;
}

export interface ReadMemberOptions {
  /** Only what comparing ranks needs. */
  readonly light?: boolean;
  /** Samples of telemetry one by one. */
  readonly keepColumns?: boolean;
}

/** Finds the reader that recognizes one member, and feeds it. */
export class MemberReader {
  readonly #member: Member;
  readonly #find: typeof findReader;
  /** Chunks that came before a reader was chosen. */
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #reader: StreamReader | null = null;
  #format: ReaderDescriptor | null = null;
  #unknown: UnknownContent | null = null;

  constructor(
    member: Member,
    readonly options: ReadMemberOptions = {},
    find: typeof findReader = findReader,
  ) {
    this.#member = member;
    this.#find = find;
  }

  /** Chunks that were pushed are not needed any more. */
  get keepsNothing(): boolean {
    return this.#reader?.keepsNothing === true;
  }

  /** False: the rest is not needed: no reader recognizes it, or its reader has enough or reads where it wants. */
  push(chunk: Uint8Array): boolean {
    if (this.#reader !== null) {
      this.#reader.push(chunk);
      return !this.#reader.isDone;
    }
    this.#pending.push(chunk);
    this.#pendingBytes += chunk.length;
    return this.#pendingBytes < HEAD_BYTES || this.#choose();
  }

  async finish(file: string): Promise<Read> {
    if (this.#format === null && this.#unknown === null) this.#choose();
    const { path, stream, extent } = this.#member;
    const format = this.#format;
    const { encodings, problems } = stream.stats;
    const isRandom = format !== null && this.#reader === null;
    const model = isRandom ? await format.readAt!(extent!) : this.#reader?.finish();
    const { storedBytes, decodedBytes } = isRandom
      ? { storedBytes: extent!.size, decodedBytes: extent!.size }
      : stream.stats;
    return {
      file,
      path,
      kind: format?.id ?? 'unknown',
      hints: rankFromPath(path),
      storedBytes,
      decodedBytes,
      encodings,
      problems: [...problems.list(), ...(model?.problems ?? [])],
      content: model ? format!.digest(model, this.options.keepColumns === true) : this.#unknown!,
    };
  }

  /** Whether the rest is needed. */
  #choose(): boolean {
    const head = this.#pending.length === 1 ? this.#pending[0]! : Buffer.concat(this.#pending);
    const descriptor = this.#find(head.subarray(0, HEAD_BYTES));
    const pending = this.#pending;
    this.#pending = [];
    this.#format = descriptor;
    if (descriptor === null) {
      this.#unknown = { of: 'nothing', looksLike: describeFile(head.subarray(0, 512), this.#member.path) };
      return false;
    }
    if (descriptor.readAt && this.#member.extent) return false;
    const { storedSize, stream } = this.#member;
    const progress = () => (storedSize ? stream.stats.storedBytes / storedSize : Number.NaN);
    const reader = descriptor.create({ progress, light: this.options.light === true });
    for (const chunk of pending) reader.push(chunk);
    this.#reader = reader;
    return !reader.isDone;
  }
}
