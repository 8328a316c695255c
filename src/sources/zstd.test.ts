import * as zlib from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { bytes, sampleText, zstdBlock, zstdFrame } from '../../test/helpers/archives.js';
import { cpuTime } from '../../test/helpers/cpu-time.js';
import { Cursor } from './cursor.js';
import { Faults } from './faults.js';
import { type FrameDecoder, fzstdDecoder, unzstd } from './zstd.js';
import { parseZstdHeader } from './zstd-frame.js';

/** `zstd -19` of 400 lines of events, with a content checksum and compressed blocks. */
const REAL = Buffer.from(
  'KLUv/QRoBScA2nbkDRegqdIBD2b98zAHwMBbpiSTTBJY1PvUCOUA0ADQAJUHScdsKFrTIHfCJcZpidoXERWxvUronHlEqMHSOabhp1JCizlq5RL/bHlI3Uq1sYUvpTgLaXxBJaeT7JlTpUrj8zSpkQUZ3qak5nQ9JSpd2sd13iXVxSxoIiXB8/TQUKcloXGYv6Xoi1Z0LNnOmsdCLUuc8cpXpUwLcszmJVKn51RaaWQs5GOkPgs3uFIJfe6eOtVV6pjjJ1IlizNkNCXTU8gTpt4l+niKF6nYohabpaQ8OZ6VWi2ZxjXPS60GoEGEAwQLBhwEiHBwgICCBAcBDgYMEBCCAQIKBByEAwIFBBg4YBDRYoM8E24ZJ0nUvIh4hOyvEqoXxzUyqoa06DJlIuszUiVdxShqRXWxf/b+sOhdTzW3x78iL3IPmfiiZXlvEtkzJldeU9TYL/okrtkclPDGIime6DFNS1RSieYhl0n3hao1igmarCohLy/uEKmdaUk6dRD7k7TIa/TRsWpkH5ZnPJpWOkTOeMN5jUy5myCK2bgo8pNR5ryIpZJmQ4uQDwrrHMMTXFsipAtny5RJ6leoNWJSvolUbRKXkBFrMvNR6k0QraeOyDPPuUvJaouKzauQcVaiRosIR3B3ldBfnHKNUDXWom/KJKwPpUpmFWvUqnUx/az94eld9VQ1t/l38qLsIYwvpiyfm1R7hsgV1xQf+6dPJTVzcOFNiqTkRNM0HaKyJRoNuYh0W6j6UUwFTaoSe/m5Q0LtsCWZqaPsX2kRrVFHx9fI6sMqz5imXYcoMx45L8qUZxPUmA0VRXwybs5PLFVJM7SMfIiwLmOYwXVKhL1wZJkiktoV6kfMonwiVZP4QkZSk+FHGW+itL4dEc085i6XVdQWVbG5QroHKY4ZKQAa7BSK5FCch6IUVUPx4YBh4YBBQlEYiptQrAmnG85SOOlw7uGsh9MVzoYDhoUDBglnMJhnMGmCOQ2mUDDDwbyDSQ/mVDAZzBVJ7USLaUqickq0DrlKukmo6lHMgyZVlZd3h0btSEvCqWPYf6RFXaMUHV0j+4d1z7ho2g5xM55wXiJT5iZoYjYtitDJsDk3sfSSpoYW8jFhfWNYgitLhHPhapkqSU0VqkfMU74SqapJPGS0mox8FHoTQ+unI+rMQ9zFsopvUY/NVSF9kHPMhKIlDTIn3GGDHqgSAHLz+98BQue0zAESGGDw/wgBhD+ox5FKd3k4BHqqwBAIoCbVULo6ofeItDEV/bIw6BcpEIABi52G2kIABEGACkoIqdUU/UMEKAhIqe9ag7QOVG0mqy7oNTnkQMBIPfaPoIKmJEJIfwe8NDzQaCOom+4P+6oD45ja1R+rFuhJBv501BuY9SIVLBCl2/x6wOsycOVb15CsA1KZZAlHIoAKEQQYIKt+aw1SAMWYl5paB7of0IokZZRpQRRAMCCQXv1TtcBLd8Bvo96Qfi00IMkJ5wYVABgEGGzyd9QN8icZ/dK4dWz2A5mgaoH3wn+BDKxoP3mIQ7iIs8SGy+VtTsexRFgMAXl4A2CRS9DRNJIabnt9kkqw/WETytFOFDKaPiAkMO0q12dSAbdjARwOlE2i4LKSp6kBkduL66UhK11dEHuIgZCQPJ4JWYkZssuKdYeiuKEQbyoe4rXkUvw4tQ+tvOpNbA==',
  'base64',
);
const LINES = bytes(
  Array.from({ length: 400 }, (_, i) => `{"name":"aten::add","step":${i},"dur":${(i * 7919) % 1000}}\n`).join(
    '',
  ),
);
const SKIPPABLE = Buffer.from([0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9]);

async function read(data: Uint8Array, decoder?: FrameDecoder, chunk = 100) {
  async function* pieces() {
    for (let at = 0; at < data.length; at += chunk) yield data.subarray(at, at + chunk);
  }
  const cursor = new Cursor(pieces());
  const faults = new Faults();
  const layer = { cursor, extent: null, size: null, stored: () => cursor.position };
  const parts: Uint8Array[] = [];
  for await (const part of unzstd(layer, faults, decoder)) parts.push(part);
  faults.assignToFile();
  return {
    data: Buffer.concat(parts),
    codes: faults.ofFile.list().map(({ code }) => code),
    parts: parts.length,
  };
}

const hasNative = 'createZstdDecompress' in zlib;
const decoders: [string, FrameDecoder | undefined][] = [['fzstd', fzstdDecoder]];
if (hasNative) decoders.push(['Node', undefined]);

describe.each(decoders)('unzstd with %s', (_, decoder) => {
  it.each([1, 13, 100_000])('reads several frames, skippable ones too, in chunks of %i', async (chunk) => {
    const tiny = bytes('x');
    const input = Buffer.concat([
      SKIPPABLE,
      REAL,
      zstdFrame(tiny),
      SKIPPABLE,
      REAL,
      zstdFrame(Buffer.alloc(0)),
    ]);
    const { data, codes } = await read(input, decoder, chunk);
    expect(codes).toEqual([]);
    expect(data.equals(Buffer.concat([LINES, tiny, LINES]))).toBe(true);
  });

  it('gives everything before a cut and a problem, wherever the cut is', async () => {
    const sample = sampleText(250);
    const whole = Buffer.concat([SKIPPABLE, zstdFrame(sample, { blockSize: 50 }), REAL]);
    const expected = Buffer.concat([sample, LINES]);
    const boundaries = new Set([SKIPPABLE.length, whole.length - REAL.length]);
    let longest = 0;
    const inFirstFrames = whole.length - REAL.length + 20;
    for (let cut = 1; cut < whole.length; cut += cut < inFirstFrames ? 1 : 23) {
      const { data, codes } = await read(whole.subarray(0, cut), decoder);
      expect(codes, `cut at ${cut}`).toEqual(boundaries.has(cut) ? [] : ['truncated-zstd']);
      expect(data.equals(expected.subarray(0, data.length)), `cut at ${cut}`).toBe(true);
      expect(data.length).toBeGreaterThanOrEqual(longest);
      longest = data.length;
    }
    expect(longest).toBeGreaterThanOrEqual(sample.length);
  });

  it('never throws and never hangs, whichever byte is changed', async () => {
    const input = Buffer.concat([zstdFrame(sampleText(100)), REAL]);
    const codes = new Set<string>();
    for (let at = 0; at < input.length; at += 19) {
      const broken = Buffer.from(input);
      broken[at]! ^= 0x55;
      for (const code of (await read(broken, decoder)).codes) codes.add(code);
    }
    expect(codes).toContain('corrupt-zstd');
  });

  it('ignores trailing bytes that are not zstd', async () => {
    const { data, codes } = await read(Buffer.concat([REAL, bytes('more')]), decoder);
    expect(codes).toEqual(['trailing-garbage']);
    expect(data.equals(LINES)).toBe(true);
  });

  it('refuses a window that would fill the memory, in any frame', async () => {
    const huge = zstdFrame(bytes('x'), { window: 0xff });
    const { data, codes } = await read(Buffer.concat([REAL, huge]), decoder);
    expect(codes).toEqual(['zstd-window-too-large']);
    expect(data.equals(LINES)).toBe(true);
  });

  it('reads many small frames with large windows in little time', async () => {
    // 16 MiB, and one segment that claims 32 MiB.
    const large = zstdFrame(bytes('x'), { window: 14 << 3 });
    const claims = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 2, ...zstdBlock(0, 1, true), 0x79]);
    const frames = Array.from({ length: 500 }, () => (decoder === fzstdDecoder ? [large, claims] : [large]));
    const from = cpuTime();
    const { data, codes } = await read(Buffer.concat(frames.flat()), decoder, 1 << 16);
    expect(codes).toEqual([]);
    expect(data.toString()).toBe((decoder === fzstdDecoder ? 'xy' : 'x').repeat(500));
    expect(cpuTime() - from).toBeLessThan(3000);
  });

  it('reads one frame of many small blocks with a large window in little time', async () => {
    const sample = sampleText(20_000);
    const raw = zstdFrame(sample, { window: 14 << 3, blockSize: 1 });
    const repeats = Array(5000).fill(Buffer.concat([zstdBlock(1, 3, false), bytes('r')]));
    const start = raw.subarray(0, 6);
    const empty = Array(5000).fill(zstdBlock(0, 0, false));
    const from = cpuTime();
    const input = Buffer.concat([start, ...repeats, ...empty, raw.subarray(6), REAL]);
    const { data, codes } = await read(input, decoder, 1 << 16);
    expect(codes).toEqual([]);
    expect(data.equals(Buffer.concat([bytes('r'.repeat(15_000)), sample, LINES]))).toBe(true);
    expect(cpuTime() - from).toBeLessThan(5000);
  });

  it('unpacks a bomb in small pieces', async () => {
    const block = Buffer.concat([zstdBlock(1, 128 << 10, false), bytes('x')]);
    const bomb = Buffer.concat([zstdFrame(Buffer.alloc(0)).subarray(0, 6), ...Array(4000).fill(block)]);
    const cursor = new Cursor([bomb][Symbol.iterator]() as unknown as AsyncIterator<Uint8Array>);
    const layer = { cursor, extent: null, size: null, stored: () => cursor.position };
    const start = process.memoryUsage().rss;
    let total = 0;
    let peak = 0;
    for await (const part of unzstd(layer, new Faults(), decoder)) {
      total += part.length;
      peak = Math.max(peak, process.memoryUsage().rss - start);
    }
    expect(total).toBe(4000 * (128 << 10));
    expect(peak).toBeLessThan(200 << 20);
  });
});

describe('parseZstdHeader', () => {
  const magic = [0x28, 0xb5, 0x2f, 0xfd];
  it.each([
    ['the largest window', [0x00, 0xff], 2 ** 41 + (2 ** 41 / 8) * 7],
    ['one segment, one byte', [0x20, 200], 200],
    ['one segment, two bytes', [0x60, 1, 0], 257],
    ['one segment, four bytes', [0xa0, 0, 0, 0, 0x80], 2 ** 31],
    ['one segment, eight bytes', [0xe0, 0, 0, 0, 0, 1, 0, 0, 0], 2 ** 32],
    ['a dictionary before the size', [0x23, 1, 2, 3, 4, 77], 77],
  ])('reads the window: %s', (_, rest, window) => {
    expect(parseZstdHeader(Buffer.from([...magic, ...rest]))).toMatchObject({ kind: 'data', window });
  });
});
