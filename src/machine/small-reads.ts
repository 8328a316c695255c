import { readdirSync } from 'node:fs';
import { open, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { median } from '../base/statistics.js';

/** What reading small files of a folder takes. */
export interface SmallReads {
  readonly files: number;
  /** Milliseconds for opening a file and reading its first 64 KiB, the median. */
  readonly medianMs: number;
  readonly filesPerSecond: number;
}

const MAX_FILES = 200;
const MAX_ENTRIES = 5000;
const MAX_MS = 3000;
const READ_BYTES = 64 * 1024;

/** Reads files one after the other, spread over the folder. Null: it has none, or cannot be read. */
export async function measureSmallReads(folder: string): Promise<SmallReads | null> {
  const paths = filesIn(folder);
  const every = Math.max(1, Math.floor(paths.length / MAX_FILES));
  const chosen = paths.filter((_, i) => i % every === 0).slice(0, MAX_FILES);
  const buffer = Buffer.alloc(READ_BYTES);
  const times: number[] = [];
  const started = performance.now();
  for (const path of chosen) {
    const before = performance.now();
    if (before - started > MAX_MS) break;
    try {
      const file = await open(path, 'r');
      await file.read(buffer, 0, READ_BYTES, 0).finally(() => file.close());
      times.push(performance.now() - before);
    } catch {
      // Not ours to read: others are.
    }
  }
  const total = times.reduce((sum, t) => sum + t, 0);
  return times.length === 0
    ? null
    : { files: times.length, medianMs: median(times), filesPerSecond: (1000 * times.length) / total };
}

/** Plain files of a folder and those below it, as far as a few thousand entries go. */
function filesIn(folder: string): string[] {
  const found: string[] = [];
  const folders = [folder];
  for (let entries = 0; folders.length > 0 && entries < MAX_ENTRIES; ) {
    const at = folders.shift()!;
    try {
      for (const entry of readdirSync(at, { withFileTypes: true })) {
        if (++entries > MAX_ENTRIES) break;
        if (entry.isDirectory()) folders.push(join(at, entry.name));
        else if (entry.isFile()) found.push(join(at, entry.name));
      }
    } catch {
      // Cannot be listed: the rest can.
    }
  }
  return found;
}

/** Size and free space of a file system in bytes. Null: not there. */
export async function fileSystemSize(
  path: string,
): Promise<{ readonly size: number; readonly free: number } | null> {
  const found = await statfs(path).catch(() => null);
  return found && { size: found.blocks * found.bsize, free: found.bavail * found.bsize };
}
