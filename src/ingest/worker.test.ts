import { expect, it } from 'vitest';
import { cpuTime } from '../../test/helpers/cpu-time.js';
import { buffersOf } from './worker.js';

it('moves each large buffer once, and leaves small ones to be copied', () => {
  const large = new Float64Array(10_000);
  const other = new Uint8Array(20_000);
  const value = {
    runs: [
      { a: large, b: large.subarray(5) },
      { small: new Uint8Array(8), deep: [[other]] },
    ],
  };
  expect(buffersOf(value)).toEqual([large.buffer, other.buffer]);
});

it('takes time in proportion to the size of the object, however many buffers it has', () => {
  const columns = Array.from({ length: 2000 }, () => new Uint8Array(1 << 14));
  const value = { columns, others: Array.from({ length: 100_000 }, (_, i) => ({ i })) };
  const from = cpuTime();
  expect(buffersOf(value)).toHaveLength(columns.length);
  // Copying the list of buffers at every object would take time that grows with the square of the objects.
  expect(cpuTime() - from).toBeLessThan(400);
});
