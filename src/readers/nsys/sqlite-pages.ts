import type { RandomAccess } from '../common/reader.js';
import { Row, readVarint, type Varint } from './sqlite-row.js';

const INTERIOR = 5;
const LEAF = 13;

/** Longer rows are cut: nothing that is read is longer than the name of a kernel. */
const MAX_ROW_BYTES = 1 << 18;

/** What a scan could not read. */
export interface ScanFaults {
  /** Pages that are missing, used twice or of the wrong kind. */
  badPages: number;
  /** Rows whose record makes no sense. */
  badRows: number;
}

/** Visits all rows of the table whose tree begins at page `root`, in order of their rowid. Never throws on bad data. */
export async function scanTable(
  file: PageFile,
  root: number,
  faults: ScanFaults,
  visit: (row: Row) => void,
): Promise<void> {
  const row = new Row(file.encoding);
  const varint: Varint = { value: 0, next: 0 };
  const pending: number[] = [];
  const want = (page: number) => {
    if (file.claim(page)) pending.push(page);
    else faults.badPages++;
  };
  want(root);
  for (let number = pending.pop(); number !== undefined; number = pending.pop()) {
    const page = file.cached(number) ?? (await file.load(number));
    const start = number === 1 ? HEADER_BYTES : 0;
    const type = page[start];
    if (page.length < file.pageBytes || (type !== INTERIOR && type !== LEAF)) {
      faults.badPages++;
      continue;
    }
    const cells = cellsOf(page, start, type === LEAF ? 8 : 12);
    if (type === INTERIOR) {
      want(u32(page, start + 8));
      // The first child must come off the stack first.
      for (let i = cells.length - 1; i >= 0; i--) want(u32(page, cells[i]!));
      continue;
    }
    // Rows do not overlap: thousands of pointers to one of them would give thousands of rows.
    let used = 0;
    for (let i = 0; i < cells.length; i++) {
      readVarint(page, cells[i]!, varint);
      const size = varint.value;
      readVarint(page, varint.next, varint);
      const rowid = varint.value;
      const body = varint.next;
      const local = localBytes(size, file.usable);
      used += body + local - cells[i]!;
      if (body + local > file.pageBytes || used > file.pageBytes) {
        faults.badRows++;
        continue;
      }
      const isWhole = local === size;
      const bytes = isWhole ? page : await gather(file, page, body, local, size, faults);
      const from = isWhole ? body : 0;
      if (row.decode(bytes, from, isWhole ? body + size : bytes.length, rowid)) visit(row);
      else faults.badRows++;
    }
  }
}

/** Positions of the cells of a page; those outside the page are left out. */
function cellsOf(page: Uint8Array, start: number, headerBytes: number): Uint16Array {
  const count = (page[start + 3]! << 8) | page[start + 4]!;
  const first = start + headerBytes;
  const fitting = Math.min(count, Math.max(0, Math.floor((page.length - first) / 2)));
  const cells = new Uint16Array(fitting);
  let kept = 0;
  for (let i = 0; i < fitting; i++) {
    const at = (page[first + 2 * i]! << 8) | page[first + 2 * i + 1]!;
    if (at >= first && at + 4 <= page.length) cells[kept++] = at;
  }
  return cells.subarray(0, kept);
}

const u32 = (bytes: Uint8Array, at: number) =>
  ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;

/** How much of a record of `size` bytes is on its page; the rest is on a chain of others (fileformat2.html, 1.6). */
function localBytes(size: number, usable: number): number {
  if (size <= usable - 35) return size;
  const least = Math.floor(((usable - 12) * 32) / 255) - 23;
  const kept = least + ((size - least) % (usable - 4));
  return kept <= usable - 35 ? kept : least;
}

/** The record in one piece, as far as it is there and not too long. */
async function gather(
  file: PageFile,
  page: Uint8Array,
  body: number,
  local: number,
  size: number,
  faults: ScanFaults,
): Promise<Uint8Array> {
  const bytes = new Uint8Array(Math.min(size, MAX_ROW_BYTES));
  bytes.set(page.subarray(body, body + Math.min(local, bytes.length)));
  let filled = local;
  let next = u32(page, body + local);
  while (filled < bytes.length) {
    if (!file.claim(next)) {
      faults.badPages++;
      break;
    }
    const more = file.cached(next) ?? (await file.load(next));
    if (more.length < file.pageBytes) break;
    const part = more.subarray(4, Math.min(file.usable, 4 + bytes.length - filled));
    bytes.set(part, filled);
    filled += part.length;
    next = u32(more, 0);
  }
  return bytes.subarray(0, Math.min(filled, bytes.length));
}

/** Bytes read from disk at a time. nsys writes each table in long runs of pages, so neighbors are needed next. */
const BLOCK_BYTES = 1 << 20;
/** Tables grow side by side, and rows point to pages elsewhere. */
const CACHED_BLOCKS = 16;

export const SQLITE_MAGIC = Buffer.from('SQLite format 3\0', 'latin1');
export const HEADER_BYTES = 100;

/** Why a file cannot be read as a database at all. */
export class NoDatabase extends Error {}

/** The pages of a database file, numbered from 1. */
export class PageFile {
  readonly #file: RandomAccess;
  readonly #blocks = new Map<number, Uint8Array>();
  readonly #blockBytes: number;
  /** A page is part of one table and is visited once, whatever a broken file says: no cycles, and no work twice. */
  readonly #seen: Uint8Array;
  readonly pages: number;

  private constructor(
    file: RandomAccess,
    readonly pageBytes: number,
    /** Without the bytes at the end of each page that extensions reserve. */
    readonly usable: number,
    /** The header counts more pages than the file has. */
    readonly isCut: boolean,
    readonly encoding: 'utf8' | 'utf16le',
  ) {
    this.#file = file;
    this.#blockBytes = Math.max(BLOCK_BYTES, pageBytes);
    this.pages = Math.floor(file.size / pageBytes);
    this.#seen = new Uint8Array(Math.ceil((this.pages + 1) / 8));
  }

  /** Throws NoDatabase. The layout is that of sqlite.org/fileformat2.html. */
  static async open(file: RandomAccess): Promise<PageFile> {
    const bytes = await file.read(0, HEADER_BYTES);
    const header = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (header.length < HEADER_BYTES || !header.subarray(0, SQLITE_MAGIC.length).equals(SQLITE_MAGIC))
      throw new NoDatabase('it has no header of an SQLite database');
    const stored = header.readUInt16BE(16);
    const pageBytes = stored === 1 ? 65536 : stored;
    const usable = pageBytes - header.readUInt8(20);
    if (pageBytes < 512 || (pageBytes & (pageBytes - 1)) !== 0 || usable < 480)
      throw new NoDatabase(`its page size of ${pageBytes} bytes is impossible`);
    if (header.readUInt32BE(56) === 3) throw new NoDatabase('its texts are in UTF-16BE');
    const isCut = header.readUInt32BE(28) * pageBytes > file.size;
    return new PageFile(file, pageBytes, usable, isCut, header.readUInt32BE(56) === 2 ? 'utf16le' : 'utf8');
  }

  /** Marks a page as used. False: there is no such page, or it was used before. */
  claim(page: number): boolean {
    if (!(page >= 1 && page <= this.pages)) return false;
    const bit = 1 << (page & 7);
    if ((this.#seen[page >> 3]! & bit) !== 0) return false;
    this.#seen[page >> 3]! |= bit;
    return true;
  }

  /** The page if it is in memory; otherwise null, and `load` fetches it. Waiting for each page would take half the time. */
  cached(page: number): Uint8Array | null {
    const start = (page - 1) * this.pageBytes;
    const number = Math.floor(start / this.#blockBytes);
    const block = this.#blocks.get(number);
    return block ? this.#slice(block, start - number * this.#blockBytes) : null;
  }

  async load(page: number): Promise<Uint8Array> {
    const start = (page - 1) * this.pageBytes;
    const number = Math.floor(start / this.#blockBytes);
    const at = number * this.#blockBytes;
    const block = await this.#file.read(at, Math.min(this.#blockBytes, this.#file.size - at));
    if (this.#blocks.size === CACHED_BLOCKS) this.#blocks.delete(this.#blocks.keys().next().value!);
    this.#blocks.set(number, block);
    return this.#slice(block, start - at);
  }

  #slice(block: Uint8Array, from: number): Uint8Array {
    return block.subarray(from, from + this.pageBytes);
  }
}
