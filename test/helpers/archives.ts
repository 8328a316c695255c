/** Archives made byte by byte, so that tests can break them anywhere. */
import { crc32, deflateRawSync } from 'node:zlib';

export const bytes = (text: string): Buffer => Buffer.from(text, 'utf8');

/** Text that does not compress to nothing, the same every time. */
export function sampleText(length: number, seed = 1): Buffer {
  const out = Buffer.alloc(length);
  let state = seed;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    out[i] = 32 + ((state >>> 16) % (i % 7 === 0 ? 90 : 12));
  }
  return out;
}

export interface TarEntry {
  readonly name: string;
  readonly data: Uint8Array;
  readonly type?: string;
  /** `gnu` writes sizes in base 256, `v7` has no magic. */
  readonly format?: 'ustar' | 'gnu' | 'v7';
}

/** A tar with its two blocks of zeros at the end. */
export function tar(entries: readonly TarEntry[]): Buffer {
  return Buffer.concat([
    ...entries.flatMap((entry) => [tarHeader(entry), padded(entry.data)]),
    Buffer.alloc(1024),
  ]);
}

export function tarHeader(
  { name, data, type = '0', format = 'ustar' }: TarEntry,
  size = data.length,
): Buffer {
  const block = Buffer.alloc(512);
  block.write(name, 0, 100);
  block.write('0000644\0', 100);
  block.write('0000000\0'.repeat(2), 108);
  if (format === 'gnu') {
    block.writeUInt8(0x80, 124);
    block.writeBigUInt64BE(BigInt(size), 128);
  } else {
    block.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  }
  block.write('00000000000\0', 136);
  block.write(format === 'v7' && type === '0' ? '\0' : type, 156);
  if (format !== 'v7') block.write(format === 'gnu' ? 'ustar  \0' : 'ustar\x0000', 257);
  block.fill(' ', 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

function padded(data: Uint8Array): Buffer {
  return Buffer.concat([data, Buffer.alloc((512 - (data.length % 512)) % 512)]);
}

export interface ZipEntry {
  readonly name: string;
  readonly data: Uint8Array;
  readonly store?: boolean;
  readonly encrypted?: boolean;
  /** A method number other than the real one. */
  readonly method?: number;
  readonly crc?: number;
  readonly zip64?: boolean;
  /** Listed in the directory with the bytes of the first entry. */
  readonly sharesFirst?: boolean;
}

/** A zip: local headers and data, then the directory. */
export function zip(entries: readonly ZipEntry[]): Buffer {
  const locals: Buffer[] = [];
  const central: Buffer[] = [];
  let at = 0;
  for (const entry of entries) {
    const stored = entry.store ? Buffer.from(entry.data) : deflateRawSync(entry.data);
    const local = Buffer.concat([zipHeader(entry, stored.length, null), stored]);
    central.push(zipHeader(entry, stored.length, entry.sharesFirst ? 0 : at));
    if (entry.sharesFirst) continue;
    locals.push(local);
    at += local.length;
  }
  return zipOf(locals, central);
}

function zipOf(locals: readonly Buffer[], central: readonly Buffer[]): Buffer {
  const files = Buffer.concat(locals);
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(central.length, 8);
  end.writeUInt16LE(central.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(files.length, 16);
  return Buffer.concat([files, directory, end]);
}

/** A local header (`at` null) or one of the directory. */
function zipHeader(entry: ZipEntry, storedSize: number, at: number | null): Buffer {
  const name = bytes(entry.name);
  const isCentral = at !== null;
  const extra = isCentral && entry.zip64 ? zip64Extra(entry.data.length, storedSize) : Buffer.alloc(0);
  const head = Buffer.alloc(isCentral ? 46 : 30);
  head.writeUInt32LE(isCentral ? 0x02014b50 : 0x04034b50, 0);
  const shift = isCentral ? 2 : 0;
  head.writeUInt16LE(45, 4 + shift);
  head.writeUInt16LE(0x800 | (entry.encrypted ? 1 : 0), 6 + shift);
  head.writeUInt16LE(entry.method ?? (entry.store ? 0 : 8), 8 + shift);
  head.writeUInt32LE(entry.crc ?? crc32(entry.data), 14 + shift);
  const big = extra.length > 0;
  head.writeUInt32LE(big ? 0xffffffff : storedSize, 18 + shift);
  head.writeUInt32LE(big ? 0xffffffff : entry.data.length, 22 + shift);
  head.writeUInt16LE(name.length, 26 + shift);
  head.writeUInt16LE(extra.length, 28 + shift);
  if (isCentral) head.writeUInt32LE(at, 42);
  return Buffer.concat([head, name, extra]);
}

function zip64Extra(size: number, storedSize: number): Buffer {
  const extra = Buffer.alloc(20);
  extra.writeUInt16LE(1, 0);
  extra.writeUInt16LE(16, 2);
  extra.writeBigUInt64LE(BigInt(size), 4);
  extra.writeBigUInt64LE(BigInt(storedSize), 12);
  return extra;
}

/** One zstd frame of raw blocks; `window` is the descriptor byte. */
export function zstdFrame(data: Uint8Array, { window = 0x50, blockSize = 1000 } = {}): Buffer {
  const parts: Uint8Array[] = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, window])];
  for (let at = 0; at === 0 || at < data.length; at += blockSize) {
    const block = data.subarray(at, at + blockSize);
    parts.push(zstdBlock(0, block.length, at + blockSize >= data.length), block);
  }
  return Buffer.concat(parts);
}

/** The header of a block: type 0 raw, 1 one byte repeated. */
export function zstdBlock(type: 0 | 1, size: number, isLast: boolean): Buffer {
  const head = Buffer.alloc(3);
  head.writeUIntLE((size << 3) | (type << 1) | (isLast ? 1 : 0), 0, 3);
  return head;
}

/** A zip whose directory lists the same bytes `count` times. */
export function overlappingZip(count: number, data: Uint8Array): Buffer {
  const stored = deflateRawSync(data);
  const entry = (i: number): ZipEntry => ({ name: `rank${String(i).padStart(6, '0')}.json`, data });
  const local = Buffer.concat([zipHeader(entry(0), stored.length, null), stored]);
  const directory = Array.from({ length: count }, (_, i) => zipHeader(entry(i), stored.length, 0));
  return zipOf([local], directory);
}
