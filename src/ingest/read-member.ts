import type { Problem } from '../base/problem.js';
import type { Content } from '../readers/common/content.js';
import type { ReaderDescriptor, ReadModel, StreamReader } from '../readers/common/reader.js';
import { findReader } from '../readers/registry.js';
import type { Member } from '../sources/open.js';
import { type NameHints, rankFromPath } from '../sources/rank-name.js';
import { describeFile } from './describe-file.js';

/** Readers recognize a format by this many bytes. */
export const HEAD_BYTES = 65536;
/** The kind of a file that no reader recognizes. */
export const UNKNOWN_KIND = 'unknown';

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
  /** One of several ranks in the file. It cannot be rewritten alone. */
  readonly isPart?: boolean;
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
  /** A trace of several ranks stays one. */
  readonly whole?: boolean;
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
      kind: format?.id ?? UNKNOWN_KIND,
      hints: rankFromPath(path),
      storedBytes,
      decodedBytes,
      encodings,
      // Faults inside a file that is of no use do not matter.
      problems: model?.refusal === undefined ? [...problems.list(), ...(model?.problems ?? [])] : [],
      content: model ? this.#content(model) : this.#unknown!,
    };
  }

  #content(model: ReadModel): Read['content'] {
    if (model.refusal !== undefined) return { of: 'nothing', looksLike: model.refusal };
    return this.#format!.digest(model, this.options.keepColumns === true);
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
    const isSmall = head.length < HEAD_BYTES;
    const reader = descriptor.create({ progress, light: this.options.light === true, isSmall });
    for (const chunk of pending) reader.push(chunk);
    this.#reader = reader;
    return !reader.isDone;
  }
}

/** A file that holds the traces of several ranks counts as several files. Each is made when it is needed. */
export function* eachPart(read: Read, whole = false): Generator<Read> {
  const { content } = read;
  if (content.of !== 'trace' || !content.parts || whole) {
    yield read;
    return;
  }
  let first = true;
  for (const { label, trace } of content.parts()) {
    const path = `${read.path}!${label}`;
    // What is counted for the file is counted once.
    const once = first ? {} : { storedBytes: 0, decodedBytes: 0, problems: [] };
    yield {
      ...read,
      path,
      hints: rankFromPath(path),
      ...once,
      content: { of: 'trace', trace },
      isPart: true,
    };
    first = false;
  }
}
