import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { cases } from '../../test/helpers/cases.js';
import { SyncGunzip } from './inflate-sync.js';

/** Feeds the data in pieces into little memory. Null: it failed, or the data is not complete. */
function inflateAll(data: Uint8Array, piece: number, room: number): Buffer | null {
  const gunzip = SyncGunzip.create()!;
  const out: Buffer[] = [];
  for (let at = 0; at < data.length; at += piece) {
    const from = data.subarray(at, at + piece);
    for (let used = 0, made = room; used < from.length || made === room; used = from.length - gunzip.left) {
      const memory = Buffer.alloc(room);
      made = gunzip.inflate(from, used, memory, 0);
      if (gunzip.failed) return null;
      out.push(memory.subarray(0, made));
      if (made < room && gunzip.left > 0) return null;
    }
  }
  return gunzip.isComplete(new Uint8Array(64)) ? Buffer.concat(out) : null;
}

const anyData = fc.uint8Array({ minLength: 1, maxLength: 3000 });
const anySize = fc.integer({ min: 1, max: 700 });

describe('inflating into given memory', () => {
  afterEach(() => vi.unstubAllGlobals());

  /** When a new Node fails here: try the tests with it added to the list. Until then files are decoded without the thread. */
  it('knows this Node', () => {
    expect(SyncGunzip.create(), `Node ${process.versions.node}`).not.toBeNull();
  });

  it('is left out in a Node that nobody has tried', () => {
    vi.stubGlobal('process', { ...process, versions: { ...process.versions, node: '99.0.0' } });
    expect(SyncGunzip.create()).toBeNull();
  });

  it('gives the data of all members, however they are cut', () => {
    fc.assert(
      fc.property(
        fc.array(anyData, { minLength: 1, maxLength: 3 }),
        anySize,
        anySize,
        (parts, piece, room) => {
          const packed = Buffer.concat(parts.map((part) => gzipSync(part)));
          expect(inflateAll(packed, piece, room)?.equals(Buffer.concat(parts))).toBe(true);
        },
      ),
      { numRuns: cases(100, 1000) },
    );
  });

  it('does not take cut or damaged data for complete', () => {
    fc.assert(
      fc.property(anyData, fc.nat(), fc.boolean(), anySize, (data, where, isCut, piece) => {
        const packed = gzipSync(data);
        // Nothing checks the ten bytes of the header but for the first four.
        const at = 10 + (where % (packed.length - 10));
        const broken = isCut ? packed.subarray(0, at) : Buffer.from(packed);
        if (!isCut) broken[at]! ^= 4;
        const found = inflateAll(broken, piece, 500);
        // The last byte of deflated data may have bits that mean nothing.
        if (isCut || !found?.equals(data)) expect(found).toBeNull();
      }),
      { numRuns: cases(100, 1000) },
    );
  });
});
