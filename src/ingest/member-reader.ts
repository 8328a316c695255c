import type { Problem } from '../base/problem.js';
import type { ReadResult, StreamReader } from '../readers/common/reader.js';
import { findReader } from '../readers/registry.js';
import { type NameHints, rankFromPath } from '../sources/rank-name.js';

/** Readers recognise a format by this many bytes. */
const HEAD_BYTES = 65536;

/** One member of a file, read. */
export interface MemberResult {
  /** The file that was opened. */
  readonly file: string;
  /** For users: `archive.tar.gz!inner.json` for a member of an archive. */
  readonly path: string;
  readonly hints: NameHints;
  readonly storedBytes: number;
  readonly decodedBytes: number;
  readonly encodings: readonly string[];
  /** Faults of the bytes and of the format. */
  readonly problems: readonly Problem[];
  readonly content: ReadResult | UnknownContent;
}

export interface UnknownContent {
  readonly kind: 'unknown';
  /** What it looks like, for the error message: `it begins with "trial_name"`. */
  readonly looksLike: string;
}

/** What is known about a member before it is read. */
export interface MemberStart {
  readonly file: string;
  readonly path: string;
  readonly storedSize: number | null;
}

/** What is known about it afterwards. */
export interface MemberEnd {
  readonly storedBytes: number;
  readonly decodedBytes: number;
  readonly encodings: readonly string[];
  readonly problems: readonly Problem[];
}

/** Finds the reader that recognises one member, and feeds it. */
export class MemberReader {
  readonly #start: MemberStart;
  /** Chunks that came before a reader was chosen. */
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #storedBytes = 0;
  #reader: StreamReader | null = null;
  #unknown: UnknownContent | null = null;

  constructor(start: MemberStart) {
    this.#start = start;
  }

  /** False: no reader recognises it, so the rest is not needed. */
  push(chunk: Uint8Array, storedBytes: number): boolean {
    this.#storedBytes = storedBytes;
    if (this.#reader !== null) {
      this.#reader.push(chunk);
      return true;
    }
    this.#pending.push(chunk);
    this.#pendingBytes += chunk.length;
    if (this.#pendingBytes >= HEAD_BYTES) this.#choose();
    return this.#unknown === null;
  }

  finish(end: MemberEnd): MemberResult {
    if (this.#reader === null && this.#unknown === null) this.#choose();
    const result = this.#reader?.finish() ?? null;
    const { file, path } = this.#start;
    return {
      file,
      path,
      hints: rankFromPath(path),
      storedBytes: end.storedBytes,
      decodedBytes: end.decodedBytes,
      encodings: end.encodings,
      problems: [...end.problems, ...(result?.problems ?? [])],
      content: result ?? this.#unknown!,
    };
  }

  #choose(): void {
    const head = this.#pending.length === 1 ? this.#pending[0]! : Buffer.concat(this.#pending);
    const descriptor = findReader(head.subarray(0, HEAD_BYTES));
    if (descriptor === null)
      this.#unknown = { kind: 'unknown', looksLike: describeHead(head.subarray(0, 512)) };
    else {
      const size = this.#start.storedSize;
      const reader = descriptor.create({ progress: () => (size ? this.#storedBytes / size : Number.NaN) });
      for (const chunk of this.#pending) reader.push(chunk);
      this.#reader = reader;
    }
    this.#pending = [];
  }
}

function describeHead(head: Uint8Array): string {
  if (head.length === 0) return 'it is empty';
  const text = Buffer.from(head).toString('utf8');
  const firstLine = text.trimStart().split(/[\r\n]/, 1)[0] ?? '';
  if (/^<(?:!doctype|html|\?xml)/i.test(firstLine))
    return 'it is a web page (HTML), perhaps a saved login page';
  if (/^version https:\/\/git-lfs/.test(firstLine)) return 'it is a Git LFS pointer: run `git lfs pull`';
  const control = head.reduce((n, c) => n + Number(c < 9 || (c > 13 && c < 32) || c === 127), 0);
  if (control > head.length / 20) return 'it is binary';
  return `it begins with ${JSON.stringify(firstLine.slice(0, 60))}`;
}
