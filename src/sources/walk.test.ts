import { setTimeout as sleep } from 'node:timers/promises';
import { constants, crc32, deflateRawSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bytes, sampleText, tar } from '../../test/helpers/archives.js';
import { places } from '../../test/helpers/cases.js';
import { type Folder, readAll, temporaryFolder } from '../../test/helpers/members.js';
import { visitMembers } from './open.js';

let folder: Folder;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.remove());

const read = async (data: Uint8Array, pause?: () => Promise<unknown>) =>
  readAll(await folder.write('trace.json.gz', data), pause);

/** Bytes that gzip cannot shrink: one stored byte is one decoded byte, so the surviving bytes are known exactly. */
const stored = (data: Uint8Array) => gzipSync(data, { level: 0 });

/** A gzip header with one subfield in its extra field. */
const header = (name: string, content: Uint8Array) => {
  const head = Buffer.from([0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 0, 0, ...Buffer.from(name), 0, 0]);
  head.writeUInt16LE(content.length + 4, 10);
  head.writeUInt16LE(content.length, 14);
  return Buffer.concat([head, content]);
};
const trailer = (data: Uint8Array) => {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(crc32(data));
  bytes.writeUInt32LE(data.length, 4);
  return bytes;
};

/** As captures before 0.1.0 wrote large traces: one member, a full flush after each block, an index in the header. */
const inBlocks = (parts: readonly Uint8Array[]) => {
  const packed = parts.map((part, i) =>
    deflateRawSync(part, {
      finishFlush: i === parts.length - 1 ? constants.Z_FINISH : constants.Z_FULL_FLUSH,
    }),
  );
  return Buffer.concat([header('WS', Buffer.alloc(48)), ...packed, trailer(Buffer.concat(parts))]);
};

/** As bgzip writes it: members with their lengths, and an empty one at the end. */
const bgzip = (parts: readonly Uint8Array[]) =>
  Buffer.concat(
    [...parts, new Uint8Array(0)].map((part) => {
      const packed = deflateRawSync(part);
      const length = Buffer.alloc(2);
      length.writeUInt16LE(packed.length + 25);
      return Buffer.concat([header('BC', length), packed, trailer(part)]);
    }),
  );

describe('a gzip that is cut short', () => {
  it('gives everything before the cut and a problem, wherever the cut', async () => {
    const data = sampleText(900);
    const whole = gzipSync(data);
    let longest = 0;
    for (const cut of places(whole.length)) {
      const { members, codes, storedBytes } = await read(whole.subarray(0, cut));
      expect(codes, `cut at ${cut}`).toEqual(['truncated-gzip']);
      expect(members).toHaveLength(1);
      expect(members[0]!.problems[0]!.first, `cut at ${cut}`).toEqual({ unit: 'stored-byte', at: cut });
      expect(storedBytes).toBe(cut);
      const got = members[0]!.data;
      expect(got.equals(data.subarray(0, got.length)), `cut at ${cut}`).toBe(true);
      expect(got.length).toBeGreaterThanOrEqual(longest);
      longest = got.length;
    }
    expect(longest).toBe(data.length);
  });

  it('loses no chunk when the caller is slow', async () => {
    // About as many as fit in the queue, so that for some sizes the end comes while it is full.
    for (let size = 4 << 20; size < 7 << 20; size += 1 << 18) {
      const data = sampleText(size);
      const whole = stored(data);
      let isFirst = true;
      const late = async () => {
        if (isFirst) await sleep(40);
        isFirst = false;
      };
      const { members, codes } = await read(whole.subarray(0, whole.length - 10_000), late);
      expect(codes).toEqual(['truncated-gzip']);
      expect(members[0]!.data.equals(data.subarray(0, members[0]!.data.length))).toBe(true);
      // The cut took the trailer of 8 bytes and the headers of some blocks, too.
      expect(data.length - members[0]!.data.length).toBeLessThan(10_000);
    }
  });

  it('gives the complete members of a tar in it, and the beginning of the next, wherever the cut', async () => {
    const [a, b] = [sampleText(700), sampleText(300, 2)];
    const whole = gzipSync(tar([{ name: 'a.json', data: a }, { name: 'b.json', data: b }])); // biome-ignore format: short
    let most = 0;
    for (const cut of places(whole.length)) {
      const { members, codes } = await read(whole.subarray(0, cut));
      expect(codes, `cut at ${cut}`).toContain('truncated-gzip');
      if (members.length === 1 && !members[0]!.encodings.includes('tar')) {
        // Less than a tar header was decoded: it cannot be recognized.
        expect(members[0]!.data.length).toBeLessThan(108);
        continue;
      }
      const expected = [a, b];
      members.forEach(({ data }, i) => {
        expect(data.equals(expected[i]!.subarray(0, data.length)), `cut at ${cut}`).toBe(true);
        if (i < members.length - 1) expect(data.length).toBe(expected[i]!.length);
      });
      most = Math.max(most, members.length);
    }
    expect(most).toBe(2);
  });
});

describe('a gzip that is damaged', () => {
  const data = sampleText(3 << 20);
  const whole = stored(data);

  it('keeps every byte when only the checksum is wrong', async () => {
    for (const fromEnd of [8, 1]) {
      const broken = Buffer.from(whole);
      broken[broken.length - fromEnd]! ^= 0xff; // the sum, then the length
      const { members, codes } = await read(broken);
      expect(codes).toEqual(['corrupt-gzip']);
      expect(members[0]!.data.equals(data)).toBe(true);
      expect(members[0]!.problems[0]!.message).toMatch(/incorrect (data|length) check/);
    }
  });

  it('goes on with the next member after a wrong checksum', async () => {
    const first = Buffer.from(gzipSync(sampleText(1000)));
    first[first.length - 8]! ^= 0xff;
    const { members, codes } = await read(Buffer.concat([first, gzipSync(sampleText(2000, 2))]));
    expect(codes).toEqual(['corrupt-gzip']);
    expect(members[0]!.data.equals(Buffer.concat([sampleText(1000), sampleText(2000, 2)]))).toBe(true);
  });

  it('keeps every byte before an impossible block, in the middle of a chunk', async () => {
    const broken = Buffer.from(whole);
    const { at, decoded } = nextBlock(broken, (1 << 20) + 300_000);
    broken[at] = 0x06; // block type 3 does not exist
    const { members, codes } = await read(broken, () => sleep(1));
    expect(codes).toEqual(['corrupt-gzip']);
    expect(members[0]!.data.equals(data.subarray(0, decoded))).toBe(true);
    expect(members[0]!.problems[0]!.first).toEqual({ unit: 'stored-byte', at });
  });

  it('never throws and never hangs, whichever byte is changed', async () => {
    const small = gzipSync(sampleText(400));
    for (const at of places(small.length).filter((place) => place >= 3)) {
      const broken = Buffer.from(small);
      broken[at]! ^= 0x55;
      const { members } = await read(broken);
      expect(members).toHaveLength(1);
    }
  });

  it('recovers what it can inside a tar, where bytes can be read again', async () => {
    const inner = Buffer.from(whole);
    inner[inner.length - 8]! ^= 0xff;
    const { members, codes } = await read(tar([{ name: 'a.gz', data: inner }]));
    expect(codes).toEqual(['corrupt-gzip']);
    expect(members[0]!.data.equals(data)).toBe(true);
  });

  it('says that some bytes may be missing where they cannot be read again', async () => {
    const inner = Buffer.from(whole);
    inner[inner.length - 8]! ^= 0xff;
    const { members, codes } = await read(gzipSync(tar([{ name: 'a.gz', data: inner }])));
    expect(codes).toEqual(['corrupt-gzip']);
    expect(members[0]!.problems[0]!.consequence).toMatch(/up to 1024 KiB before it may be missing/);
    expect(data.length - members[0]!.data.length).toBeLessThanOrEqual(1 << 20);
    expect(members[0]!.data.equals(data.subarray(0, members[0]!.data.length))).toBe(true);
  });
});

describe('a gzip in an unusual shape', () => {
  it('may have several members', async () => {
    const parts = [1, 2, 3].map((seed) => sampleText(2 << 20, seed));
    const { members, codes } = await read(Buffer.concat(parts.map((part) => gzipSync(part))));
    expect(codes).toEqual([]);
    expect(members[0]!.data.equals(Buffer.concat(parts))).toBe(true);
  });

  it.each(['blocks', 'bgzip'])('may be written in blocks with a field in the header (%s)', async (kind) => {
    const data = sampleText(400_000);
    const parts = Array.from({ length: 4 }, (_, i) => data.subarray(i * 100_000, (i + 1) * 100_000));
    const file = kind === 'bgzip' ? bgzip(parts) : inBlocks(parts);
    const { members, codes, storedBytes } = await read(file);
    expect(codes).toEqual([]);
    expect(members[0]!.data.equals(data)).toBe(true);
    expect(storedBytes).toBe(file.length);
  });

  it('may be padded with zeros', async () => {
    const { members, codes } = await read(Buffer.concat([gzipSync(sampleText(5000)), Buffer.alloc(5000)]));
    expect(codes).toEqual([]);
    expect(members[0]!.data.equals(sampleText(5000))).toBe(true);
  });

  it('may be followed by something else', async () => {
    const data = sampleText(3 << 20);
    const { members, codes } = await read(Buffer.concat([gzipSync(data), bytes('and more')]));
    expect(codes).toEqual(['trailing-garbage']);
    expect(members[0]!.data.equals(data)).toBe(true);
  });

  it('may unpack to far more than memory should hold', async () => {
    // 512 MiB of zeros in half a MiB, like a zip bomb.
    const member = gzipSync(Buffer.alloc(64 << 20));
    const file = await folder.write('bomb.gz', Buffer.concat(Array(8).fill(member)));
    let total = 0;
    let peak = 0;
    const before = process.memoryUsage().rss;
    await visitMembers(file, async ({ stream }) => {
      for await (const chunk of stream.chunks) {
        total += chunk.length;
        if (total < 40 << 20) await sleep(10); // a slow caller: decoding must wait for it
        peak = Math.max(peak, process.memoryUsage().rss - before);
      }
    });
    expect(total).toBe(512 << 20);
    expect(peak).toBeLessThan(200 << 20);
  });
});

/** The first stored block that starts after `from`, and how much data comes before it. */
function nextBlock(gzip: Buffer, from: number): { at: number; decoded: number } {
  let at = 10;
  let decoded = 0;
  while (at <= from) {
    const length = gzip.readUInt16LE(at + 1);
    at += 5 + length;
    decoded += length;
  }
  return { at, decoded };
}
