import type { RandomAccess } from '../common/reader.js';

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
