import type { Shard } from '../readers/kineto/shard.js';
import type { GzipBlocks } from '../sources/gzip-blocks.js';

/** What a thread needs that reads blocks of a file. */
export interface BlockTask {
  readonly fd: number;
  readonly blocks: GzipBlocks;
  /** Shared by all threads. */
  readonly counters: Int32Array;
}

/** Positions in `counters`: the next block that nobody reads yet, and how many blocks have been joined. */
export const NEXT = 0;
export const JOINED = 1;

/** Blocks that the threads may be ahead. Of each about 1 MB is kept until it is joined. */
export const MOST_AHEAD = 16;

export interface FromBlockThread {
  readonly block: number;
  /** `odd`: it has to be read in order. `bad`: it cannot be inflated by itself, or there is no memory for a scanner. */
  readonly read: Shard | 'odd' | 'bad';
}
