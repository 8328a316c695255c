import { afterEach, expect, it } from 'vitest';
import { kinetoReader } from './descriptor.js';

const { WebAssembly } = globalThis as unknown as { WebAssembly: { Instance: unknown } };
const { Instance } = WebAssembly;
afterEach(() => {
  WebAssembly.Instance = Instance;
});

class OutOfMemory {
  constructor() {
    throw new RangeError('Out of memory');
  }
}

it('falls back to the slow scanner where WebAssembly memory cannot be reserved', () => {
  WebAssembly.Instance = OutOfMemory;
  const reader = kinetoReader.create({});
  reader.push(Buffer.from('[{"ph":"X","name":"a","ts":1,"dur":2}]'));
  expect(reader.finish()).toMatchObject({ trace: { rows: 1 }, problems: [{ code: 'slow-scanner' }] });
});
