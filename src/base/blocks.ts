/** Items of one call: few against the time that V8 takes to compile, many against the cost of a call. */
const BLOCK = 2048;

/**
 * Calls `work(from, to)` for one block of items after the other. For loops over millions of items that run once: V8 takes
 * optimized code into use between two calls. A loop that goes on inside one call stays slow for longer, and is compiled a
 * second time.
 */
export function inBlocks(length: number, work: (from: number, to: number) => void): void {
  for (let from = 0; from < length; from += BLOCK) work(from, Math.min(from + BLOCK, length));
}
