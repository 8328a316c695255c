import type { Problem } from '../base/problem.js';
import type { ReaderDescriptor, ReadResult, StreamReader } from '../readers/common/reader.js';
import { findReader } from '../readers/registry.js';
import type { Member } from '../sources/open.js';
import { type NameHints, rankFromPath } from '../sources/rank-name.js';
import { describeFile } from './describe-file.js';

/** Readers recognize a format by this many bytes. */
export const HEAD_BYTES = 65536;

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

interface UnknownContent {
  readonly kind: 'unknown';
  /** For the error message: `it begins with "trial_name"`. */
  readonly looksLike: string;
}

/** Finds the reader that recognizes one member, and feeds it. */
export class MemberReader {
  readonly #member: Member;
  readonly #find: typeof findReader;
  /** Chunks that came before a reader was chosen. */
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #reader: StreamReader | null = null;
  #readAt: ReaderDescriptor['readAt'] | null = null;
  #unknown: UnknownContent | null = null;

  constructor(
    member: Member,
    readonly light = false,
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

  async finish(file: string): Promise<MemberResult> {
    if (this.#reader === null && this.#unknown === null && !this.#readAt) this.#choose();
    const { path, stream, extent } = this.#member;
    const content = (this.#readAt ? await this.#readAt(extent!) : this.#reader?.finish()) ?? this.#unknown!;
    const { encodings, problems } = stream.stats;
    const { storedBytes, decodedBytes } = this.#readAt
      ? { storedBytes: extent!.size, decodedBytes: extent!.size }
      : stream.stats;
    const formatProblems = content.kind === 'unknown' ? [] : content.problems;
    return {
      file,
      path,
      hints: rankFromPath(path),
      storedBytes,
      decodedBytes,
      encodings,
      problems: [...problems.list(), ...formatProblems],
      content,
    };
  }

  /** Whether the rest is needed. */
  #choose(): boolean {
    const head = this.#pending.length === 1 ? this.#pending[0]! : Buffer.concat(this.#pending);
    const descriptor = this.#find(head.subarray(0, HEAD_BYTES));
    const pending = this.#pending;
    this.#pending = [];
    if (descriptor === null) {
      this.#unknown = { kind: 'unknown', looksLike: describeFile(head.subarray(0, 512), this.#member.path) };
      return false;
    }
    if (descriptor.readAt && this.#member.extent) {
      this.#readAt = descriptor.readAt;
      return false;
    }
    const { storedSize, stream } = this.#member;
    const progress = () => (storedSize ? stream.stats.storedBytes / storedSize : Number.NaN);
    const reader = descriptor.create({ progress, light: this.light });
    for (const chunk of pending) reader.push(chunk);
    this.#reader = reader;
    return !reader.isDone;
  }
}
