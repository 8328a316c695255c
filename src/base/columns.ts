/**
 * Growing typed arrays. Memory is reserved for the expected final length: the system hands out pages only when they are
 * written, so a generous guess costs address space only, while growing by copying would hold a column twice.
 */
export type NumericArray = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float32Array | Float64Array;
type NumericArrayConstructor<T extends NumericArray> = new (length: number) => T;

export class Column<T extends NumericArray> {
  #array: T;
  length = 0;

  constructor(readonly type: NumericArrayConstructor<T>) {
    this.#array = new type(0);
  }

  /** Adds a block. `expected` is the guess of the final length, used when there is no room. */
  append(block: ArrayLike<number> & NumericArray, expected: number): void {
    const end = this.length + block.length;
    if (end > this.#array.length) this.#grow(end, expected);
    this.#array.set(block, this.length);
    this.length = end;
  }

  set(row: number, value: number): void {
    this.#array[row] = value;
  }

  #grow(end: number, expected: number): void {
    const capacity = Math.max(Math.ceil(expected), Math.ceil(end * 1.5), 1024);
    const grown = new this.type(capacity);
    grown.set(this.#array.subarray(0, this.length) as NumericArray);
    this.#array = grown;
  }

  /** The filled part; shares memory with the column. */
  finish(): T {
    return this.#array.subarray(0, this.length) as T;
  }

  /** The same values in a wider type. */
  widened<W extends NumericArray>(type: NumericArrayConstructor<W>, expected: number): Column<W> {
    const wide = new Column(type);
    wide.append(this.finish(), expected);
    return wide;
  }
}
