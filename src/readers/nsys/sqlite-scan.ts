import type { PageFile } from './sqlite-pages.js';
import { HEADER_BYTES } from './sqlite-pages.js';
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
    for (let i = 0; i < cells.length; i++) {
      readVarint(page, cells[i]!, varint);
      const size = varint.value;
      readVarint(page, varint.next, varint);
      const rowid = varint.value;
      const body = varint.next;
      const local = localBytes(size, file.usable);
      if (body + local > file.pageBytes) {
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
