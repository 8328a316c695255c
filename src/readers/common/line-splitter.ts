export const MAX_LINE_BYTES = 1 << 20;
const FIRST_CARRY_BYTES = 4096;
const LF = 10;
const NUL = 0;

/** What ended a piece. `nul`: padding left by a machine crash; what follows it is another write. */
export type PieceEnd = 'newline' | 'nul' | 'end';

export interface PieceSink {
  /** One piece without its terminator. The bytes are valid only during the call. */
  piece(bytes: Buffer, start: number, end: number, by: PieceEnd, line: number): void;
  nulBytes(count: number, line: number): void;
  /** A piece above `MAX_LINE_BYTES` was dropped. */
  longLine(line: number): void;
}

/** Cuts chunks into lines at LF and at runs of NUL. Only lines that span chunks are copied. */
export class LineSplitter {
  readonly #sink: PieceSink;
  #carry = Buffer.alloc(FIRST_CARRY_BYTES);
  #carried = 0;
  #dropping = false;
  #line = 1;

  constructor(sink: PieceSink) {
    this.#sink = sink;
  }

  push(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const size = bytes.length;
    let pos = 0;
    // Both are kept between pieces: otherwise a chunk with many of one and none of the other would take n².
    let nul = find(bytes, NUL, 0);
    let lf = find(bytes, LF, 0);
    while (pos < size) {
      if (nul < pos) nul = find(bytes, NUL, pos);
      if (lf < pos) lf = find(bytes, LF, pos);
      if (nul < lf) {
        this.#end(bytes, pos, nul, 'nul');
        pos = endOfNuls(bytes, nul);
        this.#sink.nulBytes(pos - nul, this.#line);
      } else if (lf < size) {
        this.#end(bytes, pos, lf, 'newline');
        this.#line++;
        pos = lf + 1;
      } else {
        this.#keep(bytes, pos, size);
        pos = size;
      }
    }
  }

  finish(): void {
    if (this.#carried > 0 && !this.#dropping) this.#emitCarry('end');
  }

  #end(bytes: Buffer, start: number, end: number, by: PieceEnd): void {
    if (this.#carried === 0 && !this.#dropping && end - start <= MAX_LINE_BYTES) {
      if (end > start) this.#sink.piece(bytes, start, end, by, this.#line);
      return;
    }
    this.#keep(bytes, start, end);
    if (!this.#dropping) this.#emitCarry(by);
    this.#carried = 0;
    this.#dropping = false;
  }

  #keep(bytes: Buffer, start: number, end: number): void {
    if (this.#dropping) return;
    const size = this.#carried + end - start;
    if (size > MAX_LINE_BYTES) {
      this.#sink.longLine(this.#line);
      this.#dropping = true;
      this.#carried = 0;
      return;
    }
    if (size > this.#carry.length) {
      const grown = Buffer.alloc(Math.max(size, 2 * this.#carry.length));
      this.#carry.copy(grown, 0, 0, this.#carried);
      this.#carry = grown;
    }
    bytes.copy(this.#carry, this.#carried, start, end);
    this.#carried = size;
  }

  #emitCarry(by: PieceEnd): void {
    this.#sink.piece(this.#carry, 0, this.#carried, by, this.#line);
  }
}

function find(bytes: Buffer, byte: number, from: number): number {
  const at = bytes.indexOf(byte, from);
  return at < 0 ? bytes.length : at;
}

function endOfNuls(bytes: Buffer, from: number): number {
  let pos = from;
  while (pos < bytes.length && bytes[pos] === NUL) pos++;
  return pos;
}
