import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cases } from '../../test/helpers/cases.js';
import { type Folder, temporaryFolder } from '../../test/helpers/members.js';
import { Cursor } from './cursor.js';
import { Faults } from './faults.js';
import { openFile } from './open.js';
import { gunzip } from './walk.js';

let folder: Folder;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.remove());

const data = randomBytes(2.3e6);
const whole = gzipSync(data, { level: 0 });
const two = [data.subarray(0, 1e6), data.subarray(1e6)].map((part) => gzipSync(part));
const flipped = (packed: Uint8Array, at: number) => {
  const damaged = Buffer.from(packed);
  damaged.writeUInt8(damaged[at]! ^ 0x10, at);
  return damaged;
};

/** What comes out, what is wrong with it, and how much of the file was used. */
async function read(file: string, lending: { isOn: boolean } | undefined) {
  const source = await openFile(file);
  const cursor = new Cursor(source.chunks);
  const { extent } = source;
  const faults = new Faults();
  const progress = { consumed: 0 };
  const layer = { cursor, extent, size: extent!.size, stored: () => cursor.position };
  const chunks: Buffer[] = [];
  for await (const chunk of gunzip(layer, faults, progress, lending)) chunks.push(Buffer.from(chunk));
  await cursor.close();
  await source.close();
  faults.assignToFile();
  return { data: Buffer.concat(chunks).toString('latin1'), problems: faults.ofFile.list(), ...progress };
}

async function expectSame(stored: Uint8Array) {
  const file = await folder.write('trace.json.gz', stored);
  const inPieces = await read(file, undefined);
  expect(await read(file, { isOn: true })).toEqual(inPieces);
  expect(await read(file, { isOn: false })).toEqual(inPieces);
}

describe('a gzip that is inflated ahead gives the same as one decoded piece by piece', () => {
  it.each<[what: string, stored: Uint8Array]>([
    ['whole', whole],
    ['in two members', Buffer.concat(two)],
    ['cut short', whole.subarray(0, whole.length - 100_000)],
    ['cut in its trailer', whole.subarray(0, whole.length - 3)],
    ['with a wrong checksum', flipped(whole, whole.length - 6)],
    ['with a wrong length', flipped(whole, whole.length - 2)],
    ['with a wrong checksum in the first of two members', Buffer.concat([flipped(two[0]!, two[0]!.length - 7), two[1]!])], // biome-ignore format: short
    ['with text after it', Buffer.concat([whole, Buffer.from('the end')])],
    ['with zeros after it', Buffer.concat([whole, Buffer.alloc(5000)])],
  ])('%s', (_, stored) => expectSame(stored));

  it('wherever a byte is wrong', async () => {
    const packed = gzipSync(Buffer.concat([data, Buffer.alloc(3e6, 'step ')]), { level: 1 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 100, max: packed.length - 1 }), (at) =>
        expectSame(flipped(packed, at)),
      ),
      { numRuns: cases(5, 100) },
    );
  });
});
