import { ProblemLog, type ProblemText } from '../../base/problem.js';
import type { FactsRecord } from '../common/facts-record.js';
import { parseObject } from '../common/json-object.js';
import type { ReadModel, StreamReader } from '../common/reader.js';
import { FACTS_FORMAT, LINE_END, MAX_BYTES } from './format.js';
import { readPart } from './read-part.js';

export interface FactsRead extends ReadModel {
  /** Null: of another version, or broken. */
  readonly record: FactsRecord | null;
}

/** Holds the file, or only its first part if no more is wanted. */
export class FactsStreamReader implements StreamReader<FactsRead> {
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
    const part = (from: number, to: number) =>
      to > this.#length ? null : readPart(this.#held.subarray(from, to));
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
