import { closeSync, fstatSync, openSync, type Stats, statSync } from 'node:fs';
import { findBlocks, type GzipBlocks } from '../sources/gzip-blocks.js';
import { BlockThreads } from './block-threads.js';
import { WORTH_OWN_THREADS } from './jobs.js';

/** A file whose blocks are being read by threads. */
export interface OpenBlocks {
  readonly fd: number;
  readonly stats: Stats;
  readonly blocks: GzipBlocks;
  readonly threads: BlockThreads;
  close(): Promise<void>;
}

/** With two, one that inflates and one that scans are as fast; see docs/decisions/0037. */
const LEAST_THREADS = 3;

const started = new Map<string, OpenBlocks>();

/**
 * Starts threads that read the blocks of a file. Null unless it is a large gzip on disk with known blocks, more of them than
 * threads.
 */
export function openBlocks(file: string, threads: number): OpenBlocks | null {
  // A file that is called `-` is not meant, and to open a pipe would wait for its other end.
  if (threads < LEAST_THREADS || file === '-' || !isLargeFile(file)) return null;
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch {
    return null; // told by whoever reads it in order
  }
  const stats = fstatSync(fd);
  const blocks = findBlocks(fd, stats.size);
  const running = blocks && blocks.starts.length > threads + 1 ? BlockThreads.start(fd, blocks, threads) : null;
  if (!blocks || !running) {
    closeSync(fd);
    return null;
  }
  const close = async () => {
    await running.close();
    closeSync(fd);
  };
  return { fd, stats, blocks, threads: running, close };
}

function isLargeFile(file: string): boolean {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats?.isFile() === true && stats.size >= WORTH_OWN_THREADS;
}

/** The same before the code that needs them is loaded. Returns whether they were started. */
export function openBlocksEarly(file: string, threads: number): boolean {
  const open = openBlocks(file, threads);
  if (open) started.set(file, open);
  return open !== null;
}

/** Those that were started early, if any. */
export function takeEarlyBlocks(file: string): OpenBlocks | undefined {
  const early = started.get(file);
  started.delete(file);
  return early;
}
