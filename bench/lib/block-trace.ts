import { createReadStream, createWriteStream, existsSync, renameSync, rmSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { BlockPacker } from '../../src/sources/testing/blocks.js';

const BLOCK = 4 << 20;
/** As in large-trace.ts. */
const LEVEL = 6;

/** The same trace in blocks with an index, as our capture writes it. */
export async function blockTrace(source: string, target: string): Promise<string> {
  if (existsSync(target)) return target;
  const packer = new BlockPacker(BLOCK, LEVEL);
  const body = `${target}.body`;
  const blocks = inBlocks(createReadStream(source).pipe(createGunzip({ chunkSize: 1 << 20 })));
  await pipeline(packed(blocks, packer), createWriteStream(body));
  const partial = `${target}.partial`;
  await pipeline(withHeader(packer, body), createWriteStream(partial));
  rmSync(body);
  renameSync(partial, target);
  return target;
}

async function* inBlocks(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting = Buffer.alloc(0);
  for await (const chunk of chunks) {
    waiting = Buffer.concat([waiting, chunk]);
    // The last block must not be empty, so one is kept back.
    while (waiting.length > BLOCK) {
      yield waiting.subarray(0, BLOCK);
      waiting = waiting.subarray(BLOCK);
    }
  }
  yield waiting;
}

async function* packed(blocks: AsyncIterable<Buffer>, packer: BlockPacker): AsyncGenerator<Buffer> {
  for await (const block of blocks) yield packer.pack(block, block.length < BLOCK);
}

async function* withHeader(packer: BlockPacker, body: string): AsyncGenerator<Buffer> {
  yield packer.header();
  yield* createReadStream(body);
  yield packer.trailer();
}
