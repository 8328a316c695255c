import { closeSync, fstatSync, openSync, statSync } from 'node:fs';
import { BlockInflater } from '../sources/block-inflater.js';
import { findBlocks, type GzipBlocks } from '../sources/gzip-blocks.js';
import { BlockThreads } from './block-threads.js';

/** A file whose blocks are being read by threads. */
export interface OpenBlocks {
  readonly fd: number;
  readonly size: number;
  readonly blocks: GzipBlocks;
  /** For blocks that the calling thread reads itself. */
  readonly inflater: BlockInflater;
  readonly threads: BlockThreads;
  /** `hasEnded`: all blocks have been read. Otherwise the threads are stopped. */
  close(hasEnded: boolean): Promise<void>;
}

/** With two, one that inflates and one that scans are as fast; see docs/decisions/0037. */
const LEAST_THREADS = 3;
/**
 * Stored bytes that are worth one thread more than two: about 200 MB of JSON, which take 0.4 s to inflate and scan. A thread takes
 * 50 ms to start, and 12 to 17 MB of memory, which may grow by 0.15 MB for each MB of JSON.
 */
const WORTH_ONE_MORE = 16e6;

const started = new Map<string, OpenBlocks>();

/** Starts up to so many threads that read the blocks of a file. Null unless it is a large gzip on disk with known blocks. */
export function openBlocks(file: string, most: number): OpenBlocks | null {
  let fd: number | null = null;
  try {
    const threads = Math.min(most, 2 + Math.floor(sizeOf(file) / WORTH_ONE_MORE));
    if (threads < LEAST_THREADS) return null;
    fd = openSync(file, 'r');
    const open = startReading(fd, threads);
    if (open === null) closeSync(fd);
    return open;
  } catch {
    if (fd !== null) closeSync(fd);
    return null; // told by whoever reads it in order
  }
}

function startReading(fd: number, most: number): OpenBlocks | null {
  const { size } = fstatSync(fd);
  const blocks = findBlocks(fd, size);
  const inflater = blocks && BlockInflater.create(fd, blocks);
  if (!blocks || !inflater) return null;
  // The first block is read by the thread that joins.
  const threads = BlockThreads.start(fd, blocks, Math.min(most, blocks.starts.length - 2));
  if (threads === null) return null;
  const close = async (hasEnded: boolean) => {
    if (!hasEnded) await threads.stop();
    closeSync(fd);
  };
  return { fd, size, blocks, inflater, threads, close };
}

/** In bytes; 0 unless it is a file on disk. To open a pipe would wait for its other end, and `-` is standard input. */
function sizeOf(file: string): number {
  const stats = file === '-' ? undefined : statSync(file, { throwIfNoEntry: false });
  return stats?.isFile() ? stats.size : 0;
}

/** The same before the code that needs them is loaded. */
export function openBlocksEarly(file: string, most: number): void {
  const open = openBlocks(file, most);
  if (open) started.set(file, open);
}

/** Those that were started early, if any. */
export function takeEarlyBlocks(file: string): OpenBlocks | undefined {
  const early = started.get(file);
  started.delete(file);
  return early;
}
