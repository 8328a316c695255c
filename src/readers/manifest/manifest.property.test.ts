import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RANK, RUN, read } from '../../../test/helpers/manifests.js';
import { manifestReader } from './descriptor.js';

const KEYS = [...new Set([...Object.keys(RUN), ...Object.keys(RANK)])];
/** Manifests with fields of any type. */
const manifest = fc
  .tuple(
    fc.constantFrom<object>(RUN, RANK),
    fc.dictionary(fc.constantFrom(...KEYS), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 }),
  )
  .map(([base, changed]) => Buffer.from(JSON.stringify({ ...base, ...changed })));

describe('any manifest', () => {
  it('is the same in any chunks, and plain data', () => {
    fc.assert(
      fc.property(manifest, fc.array(fc.nat({ max: 900 }), { maxLength: 12 }), (bytes, cuts) => {
        const whole = read(bytes);
        const within = cuts.map((cut) => Math.min(cut, bytes.length));
        expect(read(bytes, within)).toEqual(whole);
        expect(structuredClone(whole)).toEqual(whole);
        expect(whole.manifest).not.toBeNull();
      }),
      { numRuns: 500 },
    );
  });

  it('cut at any byte gives nothing but a problem', () => {
    for (const bytes of [RUN, RANK].map((m) => Buffer.from(JSON.stringify(m)))) {
      for (let size = 0; size < bytes.length; size++) {
        const part = read(bytes.subarray(0, size));
        expect(part).toMatchObject({ manifest: null, problems: [{ code: 'broken-manifest', count: 1 }] });
      }
    }
  });

  it('never throws, whatever bytes are flipped', () => {
    const flip = fc.tuple(fc.nat({ max: 900 }), fc.nat({ max: 255 }));
    fc.assert(
      fc.property(manifest, fc.array(flip, { minLength: 1, maxLength: 8 }), (bytes, flips) => {
        for (const [at, value] of flips) if (at < bytes.length) bytes[at] = value;
        manifestReader.sniff(bytes);
        read(bytes);
      }),
      { numRuns: 1000 },
    );
  });

  it('never throws on bytes that are not a manifest', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        manifestReader.sniff(bytes);
        read(bytes);
      }),
      { numRuns: 500 },
    );
  });
});
