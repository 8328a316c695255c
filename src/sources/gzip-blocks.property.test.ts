import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { cases } from '../../test/helpers/cases.js';
import { BlockFault, BlockInflater } from './block-inflater.js';
import { findBlocks } from './gzip-blocks.js';
import { sampleText } from './testing/archives.js';
import { bgzip, indexedGzip } from './testing/blocks.js';

const folder = mkdtempSync(join(tmpdir(), 'whyslow-blocks-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The content of all blocks, each inflated by itself; null where there are none, or where one is damaged. */
function inflateBlocks(packed: Uint8Array, room = 500): { data: Buffer; blocks: number } | null {
  const file = join(folder, 'file.gz');
  writeFileSync(file, packed);
  const fd = openSync(file, 'r');
  try {
    const blocks = findBlocks(fd, packed.length);
    if (blocks === null) return null;
    const count = blocks.starts.length - 1;
    const inflater = BlockInflater.create(fd, blocks)!;
    const found = Array.from({ length: count }, () => Buffer.alloc(0));
    // From the last to the first: they do not need each other.
    for (let block = count - 1; block >= 0; block--) {
      inflater.open(block);
      const chunk = Buffer.alloc(room);
      for (let made = inflater.read(chunk); made > 0; made = inflater.read(chunk))
        found[block] = Buffer.concat([found[block]!, chunk.subarray(0, made)]);
    }
    return { data: Buffer.concat(found), blocks: count };
  } catch (error) {
    if (error instanceof BlockFault) return null;
    throw error;
  } finally {
    closeSync(fd);
  }
}

const anyData = fc.uint8Array({ minLength: 1, maxLength: 3000 }).map((bytes) => Buffer.from(bytes));
const anyBlock = fc.integer({ min: 1, max: 1200 });
const anyLevel = fc.integer({ min: 0, max: 9 });

describe('a gzip in blocks', () => {
  it('is an ordinary gzip, and its blocks are its content', () => {
    fc.assert(
      fc.property(anyData, anyBlock, anyLevel, (data, block, level) => {
        const packed = indexedGzip(data, block, level);
        expect(gunzipSync(packed).equals(data)).toBe(true);
        const read = inflateBlocks(packed);
        expect(read?.data.equals(data)).toBe(true);
        expect(read?.blocks).toBe(Math.ceil(data.length / block));
      }),
      { numRuns: cases(50, 1000) },
    );
  });

  it('may be one of bgzip', () => {
    // Some 20 members go into one block.
    const data = sampleText(3 << 20);
    const read = inflateBlocks(bgzip(data, 65280), 1 << 16);
    expect(read?.data.equals(data)).toBe(true);
    expect(read?.blocks).toBeGreaterThan(3);
    expect(inflateBlocks(bgzip(data.subarray(0, 70_000), 999))?.data.equals(data.subarray(0, 70_000))).toBe(
      true,
    );
  });

  it('is not taken for one where blocks and content differ: a byte wrong, missing, or too many', () => {
    let found = 0;
    fc.assert(
      fc.property(
        anyData,
        anyBlock,
        fc.constantFrom(indexedGzip, bgzip),
        fc.nat(),
        fc.constantFrom('flip', 'cut', 'add', 'zero'),
        (data, block, pack, where, how) => {
          const packed = pack(data, block);
          const at = where % packed.length;
          const broken = Buffer.concat([
            packed.subarray(0, how === 'cut' ? at : packed.length),
            Buffer.alloc(how === 'zero' ? 1 + (at % 9) : 0),
            how === 'add' ? gzipSync(data) : Buffer.alloc(0),
          ]);
          if (how === 'flip') broken[at]! ^= 1 << (where % 8);
          const read = inflateBlocks(broken);
          if (read === null) return;
          found++;
          expect(gunzipSync(broken).equals(read.data)).toBe(true);
        },
      ),
      { numRuns: cases(200, 5000) },
    );
    // Some bytes of a header say nothing about the content.
    expect(found).toBeLessThan(cases(200, 5000) / 5);
  });

  it.each<[what: string, packed: Uint8Array]>([
    ['without blocks', gzipSync(sampleText(5000))],
    ['in members without lengths', Buffer.concat([gzipSync(sampleText(500)), gzipSync(sampleText(500))])],
    ['with an empty index', Buffer.from(indexedGzip(sampleText(5000), 999)).fill(0, 16, 32)],
    ['with an index of another version', Buffer.from(indexedGzip(sampleText(5000), 999)).fill(2, 16, 17)],
    ['of bgzip with another member after it', Buffer.concat([bgzip(sampleText(5000), 999), gzipSync('x')])],
    ['that is empty', new Uint8Array(0)],
    ['that is text', sampleText(100)],
  ])('is not one %s', (_, packed) => {
    expect(inflateBlocks(packed)).toBeNull();
  });

  it('takes no length from the index without a limit', () => {
    const packed = indexedGzip(sampleText(5000), 999);
    packed.writeUInt32LE(0xffffffff, 20);
    expect(inflateBlocks(packed)).toBeNull();
    const lying = indexedGzip(sampleText(5000), 999);
    lying.writeUInt32LE(0xffffffff, 32);
    expect(inflateBlocks(lying)).toBeNull();
  });
});
