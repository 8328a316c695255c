/** Wire types of protobuf. Groups (3 and 4) are not used by Perfetto. */
const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/** A field's number and wire type in one number: a known field of the wrong type is then an unknown one. */
export const varint = (field: number): number => (field << 3) | VARINT;
export const fixed64 = (field: number): number => (field << 3) | FIXED64;
export const bytes = (field: number): number => (field << 3) | BYTES;

const TWO_32 = 2 ** 32;
const MAX_FIELD = 2 ** 29;

/**
 * Reads one protobuf message field by field. Never throws and never reads outside the message: `isBroken` says that the rest
 * of it makes no sense. Values are in fields of this class, to avoid an object per value.
 */
export class MessageReader {
  buffer: Uint8Array = new Uint8Array(0);
  /** See `varint`, `fixed64` and `bytes`. */
  key = 0;
  /** A number: its lower and upper 32 bits. */
  low = 0;
  high = 0;
  /** Bytes: where they are in the buffer. */
  from = 0;
  to = 0;
  isBroken = false;
  #at = 0;
  #end = 0;

  open(buffer: Uint8Array, from: number, to: number): this {
    this.buffer = buffer;
    this.#at = from;
    this.#end = to;
    this.isBroken = false;
    return this;
  }

  /** The bytes field read last, as a message. */
  openIn(outer: MessageReader): this {
    return this.open(outer.buffer, outer.from, outer.to);
  }

  /** False at the end, and where the message is broken. */
  next(): boolean {
    if (this.#at >= this.#end) return false;
    if (!this.#varint() || this.high !== 0 || this.low >>> 3 === 0 || this.low >>> 3 >= MAX_FIELD)
      return this.#broken();
    this.key = this.low;
    switch (this.key & 7) {
      case VARINT:
        return this.#varint() || this.#broken();
      case BYTES:
        return this.#bytes() || this.#broken();
      case FIXED64:
        return this.#fixed(8) || this.#broken();
      case FIXED32:
        return this.#fixed(4) || this.#broken();
      default:
        return this.#broken();
    }
  }

  /** An unsigned number; above 2^53 the nearest one. */
  get unsigned(): number {
    return this.high * TWO_32 + this.low;
  }

  /** The number as a signed one of 64 bits; beyond 2^53 the nearest one. */
  get signed(): number {
    return (this.high | 0) * TWO_32 + this.low;
  }

  get isExact(): boolean {
    const upper = this.high | 0;
    return upper < 0x200000 && upper >= -0x200000;
  }

  /** The same with all digits. */
  get signedText(): string {
    return this.isExact ? String(this.signed) : String((BigInt(this.high | 0) << 32n) | BigInt(this.low));
  }

  get double(): number {
    FLOAT_BITS[0] = this.low;
    FLOAT_BITS[1] = this.high;
    return FLOAT[0]!;
  }

  #broken(): false {
    this.isBroken = true;
    this.#at = this.#end;
    return false;
  }

  #varint(): boolean {
    const b = this.buffer;
    const end = this.#end;
    let p = this.#at;
    if (p >= end) return false;
    let c = b[p++]!;
    let low = c & 0x7f;
    let high = 0;
    for (let shift = 7; c >= 0x80; shift += 7) {
      if (p >= end || shift > 63) return false;
      c = b[p++]!;
      const bits = c & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high = bits >>> 4;
      } else high |= bits << (shift - 32);
    }
    this.#at = p;
    this.low = low >>> 0;
    this.high = high >>> 0;
    return true;
  }

  #bytes(): boolean {
    if (!this.#varint()) return false;
    const length = this.unsigned;
    if (length > this.#end - this.#at) return false;
    this.from = this.#at;
    this.to = this.#at + length;
    this.#at = this.to;
    return true;
  }

  #fixed(size: number): boolean {
    const b = this.buffer;
    const p = this.#at;
    if (p + size > this.#end) return false;
    this.low = (b[p]! | (b[p + 1]! << 8) | (b[p + 2]! << 16) | (b[p + 3]! << 24)) >>> 0;
    this.high = size === 4 ? 0 : (b[p + 4]! | (b[p + 5]! << 8) | (b[p + 6]! << 16) | (b[p + 7]! << 24)) >>> 0;
    this.#at = p + size;
    return true;
  }
}

// Numbers on the wire are little-endian, and so is every machine that Node runs on with these arrays.
const FLOAT = new Float64Array(1);
const FLOAT_BITS = new Uint32Array(FLOAT.buffer);
