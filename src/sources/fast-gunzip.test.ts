import { randomBytes } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { cases } from '../../test/helpers/cases.js';
import { CHUNK_BYTES } from './extent.js';
import { startInflater } from './fast-gunzip.js';

const folder = mkdtempSync(join(tmpdir(), 'whyslow-inflater-'));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => vi.unstubAllGlobals());

/** Half of it shrinks, so that stored and inflated chunks end at different places. */
const data = Buffer.concat([randomBytes(3 << 20), Buffer.alloc(3 << 20, 'step ')]);
const whole = gzipSync(data, { level: 1 });

/** All that comes out. `lends`: whether the reader gives the memory back. */
async function inflateFile(path: string, lends = true) {
  const fd = openSync(path, 'r');
  const inflater = startInflater(fd);
  const chunks: Buffer[] = [];
  const memories = new Set<ArrayBuffer>();
  for (;;) {
    const message = await inflater.next();
    if (message.type === 'end') {
      await inflater.close();
      closeSync(fd);
      return { data: Buffer.concat(chunks), isComplete: message.isComplete, memories: memories.size };
    }
    const { memory, length } = message;
    chunks.push(Buffer.from(lends ? memory.slice(0, length) : memory.subarray(0, length)));
    memories.add(memory.buffer);
    inflater.answer(lends ? memory : null);
  }
}

const inflate = (stored: Uint8Array, lends?: boolean) => {
  const file = join(folder, 'data.gz');
  writeFileSync(file, stored);
  return inflateFile(file, lends);
};

describe('inflating on the thread pool', () => {
  it('gives all members, in memory that is used again', async () => {
    const members = Buffer.concat([whole, gzipSync(data)]);
    const found = await inflate(members);
    expect(found.isComplete).toBe(true);
    expect(found.data.equals(Buffer.concat([data, data]))).toBe(true);
    expect(found.memories).toBeLessThanOrEqual(3);
  });

  it('leaves memory alone that the reader keeps', async () => {
    const found = await inflate(whole, false);
    expect(found.data.equals(data)).toBe(true);
    expect(found.memories).toBeGreaterThanOrEqual(data.length / CHUNK_BYTES);
  });

  it.each([
    ['cut', whole.subarray(0, whole.length - 20)],
    ['with bytes after it', Buffer.concat([whole, Buffer.from('end')])],
    ['with zeros after it', Buffer.concat([whole, Buffer.alloc(9)])],
    ['no gzip', data.subarray(0, 1000)],
    ['empty', Buffer.alloc(0)],
  ])('finds data odd that is %s, and gives what it can', async (_, stored) => {
    const found = await inflate(stored);
    expect(found.isComplete).toBe(false);
    expect(found.data.equals(data.subarray(0, found.data.length))).toBe(true);
  });

  it('does not take damaged data for complete', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 10, max: whole.length - 1 }), async (at) => {
        const damaged = Buffer.from(whole);
        damaged[at]! ^= 4;
        expect((await inflate(damaged)).isComplete).toBe(false);
      }),
      { numRuns: cases(10, 300) },
    );
  });

  it('gives up on what cannot be read', async () => {
    expect(await inflateFile(folder)).toMatchObject({ isComplete: false, memories: 1 });
  });

  it('gives up in a Node that nobody has tried', async () => {
    vi.stubGlobal('process', { ...process, versions: { ...process.versions, node: '99.0.0' } });
    expect(await inflate(whole)).toMatchObject({ isComplete: false, memories: 0 });
  });

  it('stops early', async () => {
    writeFileSync(join(folder, 'data.gz'), whole);
    const fd = openSync(join(folder, 'data.gz'), 'r');
    const inflater = startInflater(fd);
    await inflater.next();
    await inflater.close();
    closeSync(fd);
    await expect(Promise.race([inflater.next(), 'a chunk or none'])).resolves.toBeDefined();
  });
});
