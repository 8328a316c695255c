import { closeSync, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { isGzip } from './encoding.js';
import type { Inflater } from './inflate-messages.js';
import { startInflater } from './inflate-thread.js';

interface Early {
  readonly stats: Stats;
  readonly inflater: Inflater;
}

const started = new Map<string, Early>();

/**
 * Starts inflating a file that will be read: the thread starts, and fills its first chunks, while the caller loads code. Does
 * nothing unless it is a gzip on disk of at least `least` bytes.
 */
export function inflateEarly(file: string, least: number): void {
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch {
    return; // told by whoever reads it
  }
  const stats = fstatSync(fd);
  const head = new Uint8Array(3);
  const isWorthIt =
    stats.isFile() && stats.size >= least && readSync(fd, head, 0, head.length, 0) === 3 && isGzip(head);
  if (!isWorthIt) return closeSync(fd);
  started.set(file, { stats, inflater: startInflater(fd, () => closeSync(fd)) });
}

/** The one that was started for this file, unless the path is another file by now. */
export function takeEarly(file: string, { dev, ino, size }: Stats): Inflater | null {
  const early = started.get(file);
  started.delete(file);
  const isSame = early?.stats.dev === dev && early.stats.ino === ino && early.stats.size === size;
  return isSame ? early.inflater : null;
}
