/** The bytes end inside the key or the length of a field. */
export const NOT_KNOWN_YET = 0;
/** What begins here is no field of protobuf, or an absurdly long one. */
export const NO_FIELD = -1;

/** Numbers of protobuf have at most so many bytes. */
const MOST_BYTES = 10;
const CUT = -1;
const TOO_LONG = -2;

/** How long a field is, before all of it is there. */
export class FieldSize {
  readonly #most: number;
  /** Behind the number read last. */
  #next = 0;

  /** Where the content of the field begins that was asked for last, if it has a length. */
  get content(): number {
    return this.#next;
  }

  /** Fields with more than `most` bytes are no fields. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Bytes of the field that begins at `at`, its key included, or one of the above. */
  at(b: Uint8Array, at: number, end: number): number {
    const key = this.#number(b, at, end);
    if (key === CUT) return NOT_KNOWN_YET;
    const wire = key % 8;
    if (key < 8 || key >= 2 ** 32 || wire === 3 || wire === 4 || wire > 5) return NO_FIELD;
    if (wire === 1) return this.#next - at + 8;
    if (wire === 5) return this.#next - at + 4;
    const value = this.#number(b, this.#next, end);
    if (value < 0) return value === CUT ? NOT_KNOWN_YET : NO_FIELD;
    if (wire === 0) return this.#next - at;
    return value > this.#most ? NO_FIELD : this.#next - at + value;
  }

  #number(b: Uint8Array, from: number, end: number): number {
    let value = 0;
    let scale = 1;
    for (let p = from; p < from + MOST_BYTES; p++) {
      if (p >= end) return CUT;
      const c = b[p]!;
      value += (c & 0x7f) * scale;
      if (c < 0x80) {
        this.#next = p + 1;
        return value;
      }
      scale *= 128;
    }
    return TOO_LONG;
  }
}
