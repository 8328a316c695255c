import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { bytes, tar, zip, zstdFrame } from '../../test/helpers/archives.js';
import { encodingOf, HEAD_BYTES } from './layer.js';

const entry = { name: 'inner/a.json', data: bytes('{}') };
const skippable = Buffer.from([0x5a, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]);

describe('encodingOf', () => {
  it.each([
    ['gzip', gzipSync('{}')],
    ['gzip', Buffer.from([0x1f])],
    ['zstd', zstdFrame(bytes('{}'))],
    ['zstd', skippable],
    ['zip', zip([entry])],
    ['zip', zip([])],
    ['tar', tar([entry])],
    ['tar', tar([{ ...entry, format: 'gnu' }])],
    ['tar', tar([{ ...entry, format: 'v7' }])],
    ['tar', tar([{ ...entry, format: 'v7' }]).subarray(0, 300)],
    ['tar', tar([entry]).subarray(0, 263)],
  ])('knows %s', (encoding, data) => {
    expect(encodingOf(data.subarray(0, HEAD_BYTES))).toBe(encoding);
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['JSON', bytes('{"traceEvents": []}')],
    ['the letters PK', bytes('PKW,1,2')],
    ['an opening bracket', bytes('(')],
    ['zeros', Buffer.alloc(HEAD_BYTES)],
    ['text after which the disk lost the rest', Buffer.concat([bytes('{"name":'), Buffer.alloc(400)])],
    ['gzip magic with a method that does not exist', Buffer.from([0x1f, 0x8b, 0x07, 0])],
    ['v7 tar with one byte changed', changed(tar([{ ...entry, format: 'v7' }]), 3)],
  ])('takes %s as it is', (_, data) => {
    expect(encodingOf(data.subarray(0, HEAD_BYTES))).toBe(null);
  });
});

function changed(data: Buffer, at: number): Buffer {
  data[at]! ^= 1;
  return data;
}
