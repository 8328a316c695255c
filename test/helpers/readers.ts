import type { ReaderDescriptor, ReadModel } from '../../src/readers/common/reader.js';

/** For the tests of readers: reads a text or bytes in chunks, cut at the given positions. */
export function readCut<T extends ReadModel>(
  descriptor: ReaderDescriptor<T>,
  input: string | Uint8Array,
  cuts: readonly number[],
): T {
  const bytes = typeof input === 'string' ? Buffer.from(input) : input;
  const reader = descriptor.create({});
  let from = 0;
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    // A copy that is overwritten afterwards: the reader may not hold on to a chunk.
    const chunk = new Uint8Array(bytes.subarray(from, Math.max(from, cut)));
    reader.push(chunk);
    chunk.fill(0x78);
    from = Math.max(from, cut);
  }
  reader.push(bytes.subarray(from));
  return reader.finish();
}
