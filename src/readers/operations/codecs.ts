import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { decompress } from 'fzstd';
import { snappyUncompress } from 'hyparquet/src/snappy.js';
import { BadData, Unsupported } from './runs.js';

/** Most writers make pages of 1 MB; a page is at most a row group. */
const MAX_PAGE = 128 << 20;

/** Never makes more than `size` bytes, whatever the data says. */
export function inflatePage(bytes: Uint8Array, codec: string | undefined, size: number): Uint8Array {
  if (!(size >= 0 && size <= MAX_PAGE)) throw new BadData('size of a page');
  const page = inflated(bytes, codec, size);
  if (page.length !== size) throw new BadData('size of a page');
  return page;
}

function inflated(bytes: Uint8Array, codec: string | undefined, size: number): Uint8Array {
  if (codec === 'UNCOMPRESSED' || size === 0) return bytes.subarray(0, size);
  switch (codec) {
    case 'SNAPPY': {
      const page = new Uint8Array(size);
      snappyUncompress(bytes, page);
      return page;
    }
    case 'GZIP':
      return gunzipSync(bytes, { maxOutputLength: size });
    case 'BROTLI':
      return brotliDecompressSync(bytes, { maxOutputLength: size });
    case 'ZSTD':
      return decompress(bytes, new Uint8Array(size));
    default:
      throw new Unsupported(`codec ${codec}`);
  }
}
