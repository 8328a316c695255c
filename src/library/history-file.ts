import { open, readFile } from 'node:fs/promises';
import { describeSystemError, InputError } from '../base/input-error.js';

/** Text of the file; empty if there is none yet. */
export async function readHistory(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw new InputError(`${path}: ${describeSystemError(error)}`);
  });
}

/**
 * Appends one line in one write at the end of the file, wherever that is by then: several processes may append at once. A line
 * that a crash cut short is closed first.
 */
export async function appendHistory(path: string, line: string): Promise<void> {
  try {
    const file = await open(path, 'a+');
    try {
      const { size } = await file.stat();
      const last = Buffer.alloc(1);
      if (size > 0) await file.read(last, 0, 1, size - 1);
      const isCut = size > 0 && last.toString() !== '\n';
      const bytes = Buffer.from(isCut ? `\n${line}` : line);
      const { bytesWritten } = await file.write(bytes);
      if (bytesWritten < bytes.length) throw new InputError(`${path}: the disk is full`);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw error instanceof InputError ? error : new InputError(`${path}: ${describeSystemError(error)}`);
  }
}
