import type { Random } from '../simulate/random.js';
import { below, pick } from './mutate.js';

const INTERIOR = 5;
const LEAF = 13;
const HEADER = 100;

/** Changes what the pages of an SQLite file say about themselves, or values in its rows; the file stays a database. */
export function mutateDatabase(database: Buffer, random: Random, times: number): Buffer {
  const file = Buffer.from(database);
  const size = file.readUInt16BE(16) === 1 ? 65_536 : file.readUInt16BE(16);
  const pages = Math.floor(file.length / size);
  for (let i = 0; i < times; i++) {
    const page = below(random, pages);
    const start = page * size + (page === 0 ? HEADER : 0);
    const type = file[start];
    const kind = random.next();
    if (kind < 0.05)
      file.writeUInt32BE(pick(random, [0, 1, 0xffffffff, pages - 1]), pick(random, [28, 32, 36, 40, 56]));
    else if (kind < 0.08) file.writeUInt16BE(pick(random, [0, 1, 512, 4096, 65_535]), 16);
    else if (type === INTERIOR) mutateInterior(file, start, pages, random);
    else if (type === LEAF) mutateLeaf(file, start, size - (page === 0 ? HEADER : 0), page * size, random);
    else file[start] = pick(random, [INTERIOR, LEAF, 0]);
  }
  return file;
}

/** Children that come twice, lead back, or do not exist. */
function mutateInterior(file: Buffer, start: number, pages: number, random: Random): void {
  const child = pick(random, [0, 1, 2, 1 + below(random, pages), 0xffffffff]);
  const cells = file.readUInt16BE(start + 3);
  const pointer = cells === 0 ? 0 : file.readUInt16BE(start + 12 + 2 * below(random, cells));
  const page = start - (start % 512 === HEADER ? HEADER : 0);
  const at = random.next() < 0.4 || pointer === 0 ? start + 8 : page + pointer;
  if (at + 4 <= file.length) file.writeUInt32BE(child, at);
}

function mutateLeaf(file: Buffer, start: number, bytes: number, page: number, random: Random): void {
  const cells = file.readUInt16BE(start + 3);
  const slot = (cell: number) => start + 8 + 2 * cell;
  const most = Math.min(cells, Math.floor((bytes - 8) / 2));
  if (most === 0) return;
  const cell = slot(below(random, most));
  const kind = random.next();
  if (kind < 0.1) file.writeUInt16BE(pick(random, [0, 1, cells + 1, 0xffff]), start + 3);
  else if (kind < 0.2)
    file.writeUInt16BE(pick(random, [0, 8, 0xffff, file.readUInt16BE(slot(below(random, most)))]), cell);
  // All rows are the same one.
  else if (kind < 0.25) for (let i = 0; i < most; i++) file.writeUInt16BE(file.readUInt16BE(cell), slot(i));
  else mutateRow(file, page + file.readUInt16BE(cell), random);
}

const TYPES = [0, 1, 5, 6, 7, 8, 9, 10, 12, 13, 127];
const ENDS = [
  Buffer.alloc(8),
  Buffer.alloc(8, 0xff),
  Buffer.from('7fffffffffffffff', 'hex'),
  Buffer.from('fff8000000000000', 'hex'),
];

/** Its length, the length and types in its header, or the bytes of a value. */
function mutateRow(file: Buffer, at: number, random: Random): void {
  const room = Math.min(60, file.length - at);
  if (room < 12) return;
  const kind = random.next();
  if (kind < 0.15) Buffer.from(pick(random, ['ff7f', '8f', 'ffffffff7f', '00']), 'hex').copy(file, at);
  else if (kind < 0.5) file[at + 2 + below(random, 10)] = pick(random, TYPES);
  else if (kind < 0.8) pick(random, ENDS).copy(file, at + below(random, room - 8));
  else
    file.write(
      pick(random, ['\x1b[2J', 'a\0b', 'step -1', 'iteration_99999999999', '../../x']),
      at + below(random, room - 4),
      'latin1',
    );
}
