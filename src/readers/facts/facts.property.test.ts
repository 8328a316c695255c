import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCut } from '../../../test/helpers/readers.js';
import type { NumericArray } from '../../base/columns.js';
import { factsReader } from './descriptor.js';
import { encodeColumn, factsBytes } from './format.js';

const column = fc.oneof(
  fc.uint8Array(),
  fc.array(fc.integer({ min: 0, max: 65535 })).map((v) => Uint16Array.from(v)),
  fc.array(fc.nat()).map((v) => Uint32Array.from(v)),
  fc.array(fc.integer()).map((v) => Int32Array.from(v)),
  fc.float32Array(),
  fc.float64Array(),
  fc.array(fc.maxSafeInteger()).map((v) => Float64Array.from(v)),
);
const plain = fc.record({ columns: fc.array(column), text: fc.string(), big: fc.bigInt(), n: fc.double() });

function recordOf(bytes: Uint8Array, cuts: readonly number[] = []) {
  const result = readCut(factsReader, bytes, cuts);
  return result;
}

describe('a facts file', () => {
  it('gives back what was written, however it is cut', () => {
    fc.assert(
      fc.property(plain, plain, fc.array(fc.nat(5000)), (first, second, cuts) => {
        const { record, problems } = recordOf(factsBytes('1.0', [first, second]), cuts);
        expect(problems).toEqual([]);
        for (const [part, wrote] of [[record!.core, first] as const, [record!.detail!, second] as const]) {
          const data = part.data as { columns: number[]; text: string; big: string; n: number | string };
          expect(data).toMatchObject({ text: wrote.text, big: String(wrote.big) });
          expect(Object.is(Number(data.n), wrote.n) || wrote.n === 0).toBe(true);
          data.columns.forEach((index, i) => {
            expect(same(part.column(index), wrote.columns[i]!)).toBe(true);
          });
        }
      }),
    );
  });

  it('that is cut short or changed is read or refused, never a failure', () => {
    const bytes = factsBytes('1.0', [{ c: Float64Array.from([1, 2, 3]) }, { c: Int32Array.from([4, 5]) }]);
    fc.assert(
      fc.property(fc.nat(bytes.length), fc.nat(bytes.length - 1), fc.nat(255), (length, at, byte) => {
        const changed = Buffer.from(bytes);
        changed[at] = byte;
        for (const input of [bytes.subarray(0, length), changed]) {
          if (!factsReader.sniff(input)) continue;
          const { record, problems } = recordOf(input);
          expect(record === null).toBe(problems.length > 0);
        }
      }),
    );
  });

  it('is read up to the detail only where that is enough', () => {
    const bytes = factsBytes('1.0', [{ a: 1 }, { b: new Float64Array(1e5).map((_, i) => Math.sin(i)) }]);
    const reader = factsReader.create({ light: true });
    reader.push(bytes.subarray(0, 1000));
    expect(reader.isDone).toBe(true);
    expect(reader.finish()).toMatchObject({
      record: { core: { data: { a: 1 } }, detail: null },
      problems: [],
    });
  });

  it('keeps whole numbers as short differences', () => {
    const times = Float64Array.from({ length: 1000 }, (_, i) => 1e15 + i * 50);
    expect(encodeColumn(times).bytes.length).toBeLessThan(1100);
  });
});

const same = (a: NumericArray, b: NumericArray) =>
  a.constructor === b.constructor && a.length === b.length && a.every((value, i) => Object.is(value, b[i]!));
