import type { RandomAccess } from '../../src/readers/common/reader.js';

/** For tests: bytes as a file. Each read gives a copy, as the disk does. */
export const memoryFile = (bytes: Uint8Array): RandomAccess => ({
  size: bytes.length,
  read: async (at, length) => bytes.slice(at, at + length),
});
