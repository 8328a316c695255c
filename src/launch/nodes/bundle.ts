import { open, readFile, stat } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';

interface BundledFile {
  readonly path: string;
  /** In the archive. */
  readonly name: string;
}

interface Bundle {
  readonly bytes: number;
  /** Names of files that did not fit. */
  readonly leftOut: readonly string[];
}

const BLOCK = 512;
const NAME_BYTES = 100;
/** Larger files are not even tried: one is in memory at a time. */
const MAX_FILE_BYTES = 256e6;

/**
 * Packs files into a .tar.gz of at most `mostBytes`, in their order. Each is a gzip member of its own, so that its size is known
 * before it is added.
 */
export async function writeBundle(
  files: readonly BundledFile[],
  target: string,
  mostBytes: number,
): Promise<Bundle> {
  const end = gzipSync(Buffer.alloc(2 * BLOCK));
  const leftOut: string[] = [];
  let bytes = end.length;
  const archive = await open(target, 'w', 0o600);
  try {
    for (const { path, name } of files) {
      const isLarge = (await stat(path)).size > MAX_FILE_BYTES;
      const packed = isLarge ? null : gzipSync(tarEntry(name, await readFile(path)));
      if (packed === null || bytes + packed.length > mostBytes) leftOut.push(name);
      else {
        await archive.write(packed);
        bytes += packed.length;
      }
    }
    await archive.write(end);
  } finally {
    await archive.close();
  }
  return { bytes, leftOut };
}

/** A file in a tar (ustar). Of a long name the end is kept: it says the rank. */
function tarEntry(name: string, data: Buffer): Buffer {
  const header = Buffer.alloc(BLOCK);
  header.write(Buffer.from(name).subarray(-NAME_BYTES).toString(), 0, NAME_BYTES);
  header.write('0000644\0', 100);
  header.write('0000000\0'.repeat(2), 108);
  header.write(`${data.length.toString(8).padStart(11, '0')}\0`, 124);
  header.write('00000000000\0', 136);
  header.write('0', 156);
  header.write('ustar\x0000', 257);
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return Buffer.concat([header, data, Buffer.alloc((BLOCK - (data.length % BLOCK)) % BLOCK)]);
}
