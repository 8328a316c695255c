import { createTarPacker, packTar } from 'modern-tar';
import { describe, expect, it } from 'vitest';
import { bytes, sampleText, type TarEntry, tar, tarHeader } from '../../test/helpers/archives.js';
import { cpuTime } from '../../test/helpers/cpu-time.js';
import { Cursor } from './cursor.js';
import { Faults } from './faults.js';
import type { Layer } from './layer.js';
import { tarMembers } from './tar.js';

interface Read {
  readonly names: string[];
  readonly data: Buffer[];
  readonly codes: string[];
}

/** Reads a tar given in chunks of `chunk` bytes. */
async function read(archive: Uint8Array, chunk = 1000): Promise<Read> {
  const layer = layerOf(pieces(archive, chunk));
  const faults = new Faults();
  const result: Read = { names: [], data: [], codes: [] };
  for await (const member of tarMembers(layer, faults)) {
    const parts: Uint8Array[] = [];
    for (let next = await member.chunks.next(); !next.done; next = await member.chunks.next()) {
      parts.push(next.value as Uint8Array);
    }
    result.names.push(member.name);
    result.data.push(Buffer.concat(parts));
  }
  faults.assignToFile();
  for (const { code, count } of faults.ofFile.list()) result.codes.push(...Array(count).fill(code));
  return result;
}

function layerOf(chunks: AsyncIterator<Uint8Array>): Layer {
  const cursor = new Cursor(chunks);
  return { cursor, extent: null, size: null, stored: () => cursor.position };
}

async function* pieces(data: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < data.length; at += size) yield data.subarray(at, at + size);
}

const a: TarEntry = { name: 'inner/a.json', data: sampleText(1500) };
const b: TarEntry = { name: 'b.json', data: sampleText(512, 2) };

describe('tarMembers', () => {
  it.each([1, 7, 511, 512, 513, 100_000])('gives the same from chunks of %i bytes', async (chunk) => {
    const { names, data, codes } = await read(tar([a, { name: 'none', data: Buffer.alloc(0) }, b]), chunk);
    expect(names).toEqual([a.name, 'none', b.name]);
    expect(data.map((d) => d.length)).toEqual([1500, 0, 512]);
    expect(data[0]!.equals(a.data) && data[2]!.equals(b.data)).toBe(true);
    expect(codes).toEqual([]);
  });

  it.each(['ustar', 'gnu', 'v7'] as const)('reads %s', async (format) => {
    const { names, data, codes } = await read(
      tar([
        { ...a, format },
        { ...b, format },
      ]),
    );
    expect(names).toEqual([a.name, b.name]);
    expect(data[0]!.equals(a.data)).toBe(true);
    expect(codes).toEqual([]);
  });

  it('reads what another program packs, with long and non-ASCII names', async () => {
    const names = ['short.json', `${'d/'.repeat(60)}long.json`, `${'x'.repeat(300)}.json`, 'größe/日本.json'];
    const archive = await packTar(names.map((name) => ({ header: { name, size: 4 }, body: 'body' })));
    const found = await read(archive);
    expect(found.names).toEqual(names);
    expect(found.data.map(String)).toEqual(names.map(() => 'body'));
    expect(found.codes).toEqual([]);
  });

  it('reads GNU long names', async () => {
    const name = `${'deep/'.repeat(40)}a.json`;
    const long = { name: '././@LongLink', data: bytes(`${name}\0`), type: 'L', format: 'gnu' } as const;
    expect((await read(tar([long, { ...a, format: 'gnu' }, b]))).names).toEqual([name, b.name]);
  });

  it('skips everything that is not a regular file', async () => {
    const others = ['1', '2', '3', '4', '5', '6', 'g', 'K', 'V'].map((type) => ({
      name: `is-${type}`,
      data: bytes('xyz'),
      type,
    }));
    const directory: TarEntry = { name: 'old/', data: Buffer.alloc(0), format: 'v7' };
    const { names, codes } = await read(tar([...others, directory, a]));
    expect(names).toEqual([a.name]);
    expect(codes).toEqual([]);
  });

  it.each(['base 256', 'pax'])('passes 9 GiB through without copying (%s)', async (how) => {
    const size = 9 * 2 ** 30;
    const chunk = new Uint8Array(1 << 20);
    const head =
      how === 'pax'
        ? await paxHeader(size)
        : tarHeader({ name: 'big.json', data: chunk, format: 'gnu' }, size);
    async function* big() {
      yield head;
      for (let i = 0; i < size / chunk.length; i++) yield chunk;
      yield tar([b]);
    }
    let total = 0;
    let isCopied = false;
    const names: string[] = [];
    const start = cpuTime();
    for await (const member of tarMembers(layerOf(big()), new Faults())) {
      names.push(member.name);
      if (names.length > 1) break;
      for (let next = await member.chunks.next(); !next.done; next = await member.chunks.next()) {
        total += (next.value as Uint8Array).length;
        isCopied ||= (next.value as Uint8Array).buffer !== chunk.buffer;
      }
    }
    expect(names).toEqual(['big.json', b.name]);
    expect(total).toBe(size);
    expect(isCopied).toBe(false);
    expect(size / 1e6 / (cpuTime() - start)).toBeGreaterThan(2); // GB/s; 300 to 600 when measured
  });
});

describe('a tar that is broken', () => {
  const whole = tar([a, b]);
  const endOfData = whole.length - 1024;

  it('gives everything before the cut and one problem, at every byte', async () => {
    for (let cut = 1; cut < endOfData + 512; cut++) {
      const { names, data, codes } = await read(whole.subarray(0, cut));
      expect(codes, `cut at ${cut}`).toEqual(['truncated-tar']);
      const count = (cut >= 512 ? 1 : 0) + (cut >= 3 * 512 + 512 + 512 ? 1 : 0);
      expect(names, `cut at ${cut}`).toHaveLength(count);
      const available = [Math.min(1500, cut - 512), Math.min(512, cut - 512 - 3 * 512 - 512)];
      data.forEach((got, i) => {
        expect(got.length, `cut at ${cut}`).toBe(available[i]);
        expect(got.equals([a, b]![i]!.data.subarray(0, got.length))).toBe(true);
      });
    }
  });

  it('is complete once the first block of zeros is there', async () => {
    for (const cut of [endOfData + 512, endOfData + 700, whole.length]) {
      expect((await read(whole.subarray(0, cut))).codes).toEqual([]);
    }
  });

  it('stops at a damaged header', async () => {
    const broken = Buffer.from(whole);
    broken[512 + 1536 + 3]! ^= 1;
    const { names, codes } = await read(broken);
    expect(names).toEqual([a.name]);
    expect(codes).toEqual(['corrupt-tar']);
  });

  it('does not believe a huge name', async () => {
    const monster = tarHeader({ name: 'x', data: Buffer.alloc(0), type: 'x' }, 8 * 2 ** 30 - 1);
    const { names, codes } = await read(Buffer.concat([monster, Buffer.alloc(5000)]));
    expect(names).toEqual([]);
    expect(codes).toEqual(['truncated-tar']);
  });
});

/** A pax header with a size, and the header of the file after it, from modern-tar. */
async function paxHeader(size: number): Promise<Uint8Array> {
  const { readable, controller } = createTarPacker();
  controller.add({ name: 'big.json', size });
  const reader = readable.getReader();
  const parts: Uint8Array[] = [];
  for (let length = 0; length < 1536; ) {
    const { value } = await reader.read();
    if (value === undefined) break;
    parts.push(value);
    length += value.length;
  }
  await reader.cancel().catch(() => {});
  return Buffer.concat(parts);
}
