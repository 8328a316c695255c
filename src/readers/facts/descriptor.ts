import type { NumericArray } from '../../base/columns.js';
import { ProblemLog, type ProblemText } from '../../base/problem.js';
import { ShapeError } from '../../base/shape.js';
import type { FactsPart, FactsRecord } from '../common/content.js';
import { parseObject } from '../common/json-object.js';
import type { ReaderDescriptor, ReadModel, StreamReader } from '../common/reader.js';
import { headText } from '../common/text.js';
import {
  COLUMN_TYPES,
  FACTS_FORMAT,
  fromDeltas,
  fromPlanes,
  LINE_END,
  MAX_BYTES,
  MAX_COLUMN_BYTES,
} from './format.js';

interface FactsRead extends ReadModel {
  /** Null: of another version, or broken. */
  readonly record: FactsRecord | null;
}

/** Holds the file, or only its first part if no more is wanted. */
class FactsStreamReader implements StreamReader<FactsRead> {
  readonly #light: boolean;
  #held = Buffer.alloc(0);
  #length = 0;
  /** Where parts end; the first number is where they begin. Null: not known yet, or the first line is not ours. */
  #ends: readonly number[] | null = null;
  #fault: ProblemText | null = null;

  constructor(light: boolean) {
    this.#light = light;
  }

  push(chunk: Uint8Array): void {
    if (this.isDone) return;
    this.#hold(chunk);
    if (this.#ends === null) this.#readHead();
    if (this.#length > MAX_BYTES) this.#fault = TOO_LARGE;
  }

  get isDone(): boolean {
    return this.#fault !== null || (this.#light && this.#ends !== null && this.#length >= this.#ends[1]!);
  }

  finish(): FactsRead {
    const problems = new ProblemLog();
    const record = this.#fault ? null : this.#record();
    if (!record) problems.add('broken-facts', this.#fault ?? CUT_SHORT);
    return { record, problems: problems.list() };
  }

  #hold(chunk: Uint8Array): void {
    const length = this.#length + chunk.length;
    if (length > this.#held.length) {
      const grown = Buffer.alloc(Math.min(Math.max(2 * length, 1 << 16), MAX_BYTES + chunk.length));
      this.#held.copy(grown, 0, 0, this.#length);
      this.#held = grown;
    }
    this.#held.set(chunk, this.#length);
    this.#length = length;
  }

  #readHead(): void {
    const end = this.#held.subarray(0, this.#length).indexOf(LINE_END);
    if (end < 0) return;
    const head = parseObject(this.#held.toString('utf8', 0, end)) ?? {};
    const { whyslow_facts: format, parts, by } = head;
    if (format !== FACTS_FORMAT) this.#fault = otherFormat(format, by);
    else if (!isSizes(parts)) this.#fault = CUT_SHORT;
    else {
      const core = end + 1 + parts[0]!;
      this.#ends = [end + 1, core, core + (parts[1] ?? 0)].slice(0, parts.length + 1);
    }
  }

  /** Null: cut short or broken. */
  #record(): FactsRecord | null {
    if (this.#ends === null) return null;
    const [start, core, detail] = this.#ends;
    const memory = { left: MAX_COLUMN_BYTES };
    const part = (from: number, to: number) =>
      to > this.#length ? null : readPart(this.#held.subarray(from, to), memory);
    const first = part(start!, core!);
    if (!first) return null;
    if (detail === undefined || this.#light) return { core: first, detail: null };
    const second = part(core!, detail);
    return second && { core: first, detail: second };
  }
}

/** One part or two. */
const isSizes = (value: unknown): value is readonly number[] =>
  Array.isArray(value) &&
  (value.length === 1 || value.length === 2) &&
  value.every((n) => Number.isSafeInteger(n) && n >= 0 && n <= MAX_BYTES);

const AGAIN = 'make it again with this whyslow: `whyslow facts TRACE -o DIR`';
const CUT_SHORT = { message: 'the facts file is cut short or broken', consequence: `left out; ${AGAIN}` };
const TOO_LARGE = { message: 'the facts file is larger than 64 MiB', consequence: `left out; ${AGAIN}` };

function otherFormat(format: unknown, by: unknown): ProblemText {
  const writer = typeof by === 'string' ? `whyslow ${by.slice(0, 40)}` : 'another version of whyslow';
  const found = Number.isSafeInteger(format) ? `format ${format}` : 'another format';
  const isNewer = typeof format === 'number' && format > FACTS_FORMAT;
  return {
    message: `the facts file has ${found}, written by ${writer}; this version reads format ${FACTS_FORMAT}`,
    consequence: isNewer ? `left out; update whyslow, or ${AGAIN}` : `left out; ${AGAIN}`,
  };
}

/** Bytes that the columns of a file may still take. */
interface Memory {
  left: number;
}

interface StoredColumn {
  readonly type: (typeof COLUMN_TYPES)[number];
  readonly encoding: unknown;
  readonly length: number;
  readonly bytes: Uint8Array;
}

/** Unpacks columns only when they are asked for, each once: the data refers to no column twice. Null: not a part. */
function readPart(part: Buffer, memory: Memory): FactsPart | null {
  const end = part.indexOf(LINE_END);
  const head = end < 0 ? null : parseObject(part.toString('utf8', 0, end));
  const columns = head && storedColumns(head.columns, part.subarray(end + 1), memory);
  if (!head || !columns) return null;
  const isTaken = new Uint8Array(columns.length);
  const column = (index: number) => {
    if (isTaken[index] === 1) throw new ShapeError('another column than an earlier one');
    isTaken[index] = 1;
    return unpack(columns[index]);
  };
  return { data: head.data, column };
}

/** Null: the columns are not within the part, or need too much memory. */
function storedColumns(heads: unknown, bytes: Uint8Array, memory: Memory): readonly StoredColumn[] | null {
  if (!Array.isArray(heads)) return null;
  const columns: StoredColumn[] = [];
  let at = 0;
  for (const head of heads) {
    const [name, encoding, length, size] = Array.isArray(head) ? head : [];
    const type = COLUMN_TYPES.find((t) => t.name === name);
    if (!type || !isSize(length) || !isSize(size) || at + size > bytes.length) return null;
    memory.left -= length * type.BYTES_PER_ELEMENT;
    if (memory.left < 0) return null;
    columns.push({ type, encoding, length, bytes: bytes.subarray(at, at + size) });
    at += size;
  }
  return at === bytes.length ? columns : null;
}

const isSize = (n: unknown): n is number => Number.isSafeInteger(n) && (n as number) >= 0;

function unpack(stored: StoredColumn | undefined): NumericArray {
  if (!stored) throw new ShapeError('the number of a column');
  const { type, encoding, length, bytes } = stored;
  const empty: NumericArray = new type(length);
  const column = encoding === 'delta' ? fromDeltas(bytes, empty) : fromPlanes(bytes, empty);
  return column ?? wrongColumn(`${length} values of ${type.name}`);
}

function wrongColumn(expected: string): never {
  throw new ShapeError(expected);
}

/** What `whyslow facts` writes. */
export const factsReader: ReaderDescriptor<FactsRead> = {
  id: 'facts',
  title: 'facts of a trace (whyslow facts)',
  sniff: (head) => headText(head).startsWith('{"whyslow_facts":'),
  line: { one: 'facts file', many: 'facts files', counts: 'events' },
  refusesEmpty: true,
  create: ({ light = false }) => new FactsStreamReader(light),
  digest: ({ record }) => ({ of: 'facts', record }),
};
