/** Varints of SQLite have up to 9 bytes. Those above 2^53 lose digits; nothing valid is that large. */
export function readVarint(bytes: Uint8Array, at: number, into: Varint): void {
  let value = 0;
  for (let i = 0; i < 8; i++) {
    const byte = bytes[at + i] ?? 0;
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) {
      into.value = value;
      into.next = at + i + 1;
      return;
    }
  }
  into.value = value * 256 + (bytes[at + 8] ?? 0);
  into.next = at + 9;
}

/** Where a varint ended, and its value. One object is reused: there are several in every row. */
export interface Varint {
  value: number;
  next: number;
}

/** Number of a column that is the rowid under another name, and of one that the table does not have. */
export const ROWID = -2;
export const NO_COLUMN = -1;

const MAX_COLUMNS = 256;
/** Bytes of the serial types 0 to 9. */
const SIZES = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0];

/** The row that a scan has reached. It is valid only during the visit. Columns that the record lacks are null. */
export class Row {
  rowid = 0;
  #bytes: Uint8Array = new Uint8Array(0);
  #view: DataView = new DataView(this.#bytes.buffer);
  readonly #types = new Float64Array(MAX_COLUMNS);
  readonly #starts = new Uint32Array(MAX_COLUMNS);
  #columns = 0;
  readonly #varint: Varint = { value: 0, next: 0 };

  constructor(readonly encoding: 'utf8' | 'utf16le') {}

  /** Points at a record. False: its header is broken. */
  decode(bytes: Uint8Array, start: number, end: number, rowid: number): boolean {
    this.rowid = rowid;
    // One view for all rows of a page.
    if (bytes !== this.#bytes) {
      this.#bytes = bytes;
      this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }
    const varint = this.#varint;
    readVarint(bytes, start, varint);
    const headerEnd = start + varint.value;
    this.#columns = 0;
    if (headerEnd > end) return false;
    let body = headerEnd;
    let at = varint.next;
    while (at < headerEnd && this.#columns < MAX_COLUMNS) {
      readVarint(bytes, at, varint);
      at = varint.next;
      const type = varint.value;
      this.#starts[this.#columns] = body;
      body += type >= 12 ? Math.floor((type - 12) / 2) : (SIZES[type] ?? 0);
      // A value that the file does not have, or of a type that does not exist, counts as missing.
      this.#types[this.#columns++] = body <= end && type !== 10 && type !== 11 ? type : 0;
    }
    return true;
  }

  /** NaN: null, text, or no such column. Integers above 2^53 lose digits: see `integer`. */
  number(column: number): number {
    if (column === ROWID) return this.rowid;
    const type = this.#typeOf(column);
    const at = this.#starts[column]!;
    const view = this.#view;
    switch (type) {
      case 1:
        return view.getInt8(at);
      case 2:
        return view.getInt16(at);
      case 3:
        return view.getInt8(at) * 65536 + view.getUint16(at + 1);
      case 4:
        return view.getInt32(at);
      case 5:
        return view.getInt16(at) * 2 ** 32 + view.getUint32(at + 2);
      case 6:
        return view.getInt32(at) * 2 ** 32 + view.getUint32(at + 4);
      case 7:
        return view.getFloat64(at);
      case 8:
        return 0;
      case 9:
        return 1;
      default:
        return Number.NaN;
    }
  }

  /** An integer with all its bits. Null: it is none. */
  integer(column: number): bigint | null {
    if (this.#typeOf(column) === 6) return this.#view.getBigInt64(this.#starts[column]!);
    const value = this.number(column);
    return Number.isSafeInteger(value) ? BigInt(value) : null;
  }

  /** Bits 24 and up of an integer, at most 24 of them: the process in the ids of nsys. −1: it is none. */
  process(column: number): number {
    if (this.#typeOf(column) === 6) {
      const at = this.#starts[column]!;
      return this.#view.getUint32(at + 1) & 0xffffff;
    }
    const value = this.number(column);
    return value >= 0 ? Math.floor(value / 2 ** 24) % 2 ** 24 : -1;
  }

  /** The lowest 24 bits of an integer: the thread in the ids of nsys. −1: it is none. */
  thread(column: number): number {
    if (this.#typeOf(column) === 6) return this.#view.getUint32(this.#starts[column]! + 4) & 0xffffff;
    const value = this.number(column);
    return value >= 0 ? value % 2 ** 24 : -1;
  }

  /** Null: not a text. At most `most` bytes. */
  text(column: number, most: number): string | null {
    const type = this.#typeOf(column);
    if (type < 13 || type % 2 === 0) return null;
    const start = this.#starts[column]!;
    const length = Math.min((type - 13) / 2, most);
    const { buffer, byteOffset } = this.#bytes;
    return Buffer.from(buffer, byteOffset + start, length).toString(this.encoding);
  }

  #typeOf(column: number): number {
    return column >= 0 && column < this.#columns ? this.#types[column]! : 0;
  }
}
