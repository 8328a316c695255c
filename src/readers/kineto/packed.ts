import type { NumericArray } from '../../base/columns.js';

/** Memory of at least so many bytes. */
export type Allocate = (bytes: number) => ArrayBuffer;

/** A copy of plain data with all its arrays of numbers in one piece of memory: many pieces take long to move between threads. */
export function packed<T>(value: T, allocate: Allocate = (bytes) => new ArrayBuffer(bytes)): T {
  const memory = allocate(sizeOf(value));
  let at = 0;
  const copy = (from: unknown): unknown => {
    if (ArrayBuffer.isView(from)) {
      const array = from as NumericArray;
      const type = array.constructor as new (buffer: ArrayBuffer, at: number, length: number) => NumericArray;
      const to = new type(memory, at, array.length);
      to.set(array);
      at += aligned(array.byteLength);
      return to;
    }
    if (Array.isArray(from)) return from.map(copy);
    if (typeof from !== 'object' || from === null) return from;
    return Object.fromEntries(Object.entries(from).map(([key, inner]) => [key, copy(inner)]));
  };
  return copy(value) as T;
}

function sizeOf(value: unknown): number {
  if (ArrayBuffer.isView(value)) return aligned(value.byteLength);
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((sum: number, inner) => sum + sizeOf(inner), 0);
}

/** Numbers of 8 bytes must start at a multiple of 8. */
const aligned = (bytes: number) => Math.ceil(bytes / 8) * 8;
