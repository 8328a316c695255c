import { statSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';

/**
 * Asks V8 to collect garbage early instead of letting the heap grow to four times what is alive. Encoding tables makes 2 kB of
 * garbage a row: 245 MB at the peak become 185. V8 asks for this flag at each collection, so that it may be set late.
 */
export const preferSmallHeap = (): void => setFlagsFromString('--optimize-for-size');

/** Of a stored file. In larger ones the loops over all events cost more than everything that runs only once. */
const MOST_BYTES = 12e6;

/**
 * Before one trace is diagnosed, in which most functions run once: keeps V8 from compiling loops again while they run. That
 * takes a fifth of the CPU time of a small trace, and gains nothing: loops over all events run in blocks (base/blocks.ts).
 */
export function expectToRunOnce(paths: readonly string[]): void {
  if (paths.length === 1 && isSmallFile(paths[0]!)) setFlagsFromString('--no-use-osr');
}

function isSmallFile(path: string): boolean {
  try {
    const file = statSync(path);
    return file.isFile() && file.size <= MOST_BYTES;
  } catch {
    return false; // reported by whoever reads it
  }
}
