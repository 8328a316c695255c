import type { Problem } from '../../../base/problem.js';
import { OPCODES, type Opcode, STOP } from './opcodes.js';
import { broken, PickleFault, type PickleLimits, PickleValues } from './pickle-values.js';

/** Longest single text. */
const MAX_TEXT_BYTES = 16 << 20;

/** Either the value or why there is none. */
export type Unpickled =
  | { readonly value: unknown; readonly problem: null }
  | { readonly value: null; readonly problem: Problem };

/**
 * Reads a Python pickle that holds only data: no opcode that imports, calls or builds anything is obeyed. Bytes may be cut
 * anywhere; none are kept but the start of the opcode that they end in. What it costs is bounded: time by the number of bytes,
 * memory by `limits`, depth by 64. The result has no cycles.
 */
export class PickleDecoder {
  readonly #values: PickleValues;
  #rest: Buffer = Buffer.alloc(0);
  /** Bytes before `#rest`. */
  #before = 0;
  #ended: Unpickled | null = null;

  constructor(limits: PickleLimits) {
    this.#values = new PickleValues(limits);
  }

  /** The value is complete, or the pickle was refused. */
  get isDone(): boolean {
    return this.#ended !== null;
  }

  push(chunk: Uint8Array): void {
    if (this.#ended) return;
    const view = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const bytes = this.#rest.length === 0 ? view : Buffer.concat([this.#rest, view]);
    let at = 0;
    try {
      while (at < bytes.length && !this.#ended) {
        const next = this.#step(bytes, at);
        if (next === null) break;
        at = next;
      }
    } catch (error) {
      if (!(error instanceof PickleFault)) throw error;
      this.#refuse(error, this.#before + at);
    }
    this.#before += at;
    this.#rest = this.#ended ? Buffer.alloc(0) : Buffer.from(bytes.subarray(at));
  }

  finish(): Unpickled {
    if (!this.#ended) this.#refuse(broken('it ends early'), this.#before + this.#rest.length);
    return this.#ended!;
  }

  /** Where the next opcode begins. Null: the bytes end inside this one. */
  #step(bytes: Buffer, start: number): number | null {
    const code = bytes[start]!;
    const opcode = BY_BYTE[code];
    if (!opcode) throw broken(`byte 0x${code.toString(16)} is no opcode`);
    const { argument } = opcode;
    let at = start + 1;
    let length: number;
    if ('fixed' in argument) length = argument.fixed;
    else {
      if (at + argument.counted > bytes.length) return null;
      length = lengthAt(bytes, at, argument.counted);
      if (length > MAX_TEXT_BYTES) throw broken(`${opcode.name} has ${length} bytes`);
      at += argument.counted;
    }
    const end = at + length;
    if (end > bytes.length) return null;
    opcode.run(this.#values, bytes, at, end);
    if (code === STOP) this.#ended = { value: this.#values.result(), problem: null };
    return end;
  }

  #refuse({ code, message }: PickleFault, at: number): void {
    const problem = {
      code,
      count: 1,
      message,
      consequence: 'It was not read.',
      first: { unit: 'byte', at },
    } as const;
    this.#ended = { value: null, problem };
  }
}

/** Reads a pickle that is in memory whole. */
export function unpickle(bytes: Uint8Array, limits: PickleLimits): Unpickled {
  const decoder = new PickleDecoder(limits);
  decoder.push(bytes);
  return decoder.finish();
}

/** Protocols 2 to 5 begin with PROTO. */
export const looksLikePickle = (head: Uint8Array): boolean =>
  head[0] === 0x80 && head[1]! >= 2 && head[1]! <= 5;

const BY_BYTE: readonly (Opcode | undefined)[] = Array.from({ length: 256 }, (_, byte) => {
  const key = String.fromCharCode(byte);
  return Object.hasOwn(OPCODES, key) ? OPCODES[key] : undefined;
});

function lengthAt(bytes: Buffer, at: number, size: 1 | 4 | 8): number {
  if (size === 1) return bytes[at]!;
  if (size === 4) return bytes.readUInt32LE(at);
  return Number(bytes.readBigUInt64LE(at));
}
