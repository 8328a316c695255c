import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pack, unpack } from './packed.js';

describe('packed data', () => {
  it('comes back as it was, at any alignment', () => {
    const column = fc.oneof(
      fc.uint8Array(),
      fc.uint16Array(),
      fc.uint32Array(),
      fc.int32Array(),
      fc.float32Array({ noNaN: true }),
      fc.float64Array({ noNaN: true }),
    );
    const data = fc.record({ name: fc.string(), list: fc.array(column), deep: fc.record({ column }) });
    fc.assert(
      fc.property(data, fc.nat(7), (value, shift) => {
        const packed = pack(value);
        const moved = new Uint8Array(packed.length + shift);
        moved.set(packed, shift);
        expect(unpack(moved.subarray(shift))).toEqual(value);
      }),
    );
  });
});
