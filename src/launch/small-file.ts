import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/** The largest that capture itself writes are rank manifests, about 20 kB. */
const MAX_BYTES = 1 << 20;

/** Windows lacks the last two. Without O_NONBLOCK, opening a pipe waits until somebody writes to it. */
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** A capture folder may be writable for others. Null: not there, or no plain file (a link, a pipe, a device). */
export async function openPlainFile(path: string): Promise<FileHandle | null> {
  const file = await open(path, FLAGS).catch(() => null);
  if (!file) return null;
  const isPlain = await file.stat().then(
    (stats) => stats.isFile(),
    () => false,
  );
  if (isPlain) return file;
  await file.close();
  return null;
}

/** Null: not there, no plain file, or too large to be capture's own. */
export async function readSmallFile(path: string): Promise<string | null> {
  const file = await openPlainFile(path);
  if (!file) return null;
  try {
    const buffer = Buffer.alloc(Math.min((await file.stat()).size, MAX_BYTES) + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
      length += bytesRead;
      if (bytesRead === 0) return buffer.toString('utf8', 0, length);
      if (length === buffer.length) return null;
    }
  } catch {
    return null;
  } finally {
    await file.close();
  }
}

/** The JSON object in a file of a capture. Null while the file is missing, incomplete, or not one that capture writes. */
export async function readJson(path: string): Promise<Readonly<Record<string, unknown>> | null> {
  const text = await readSmallFile(path);
  return text === null ? null : jsonObject(text);
}

/** Null when the text is not a JSON object. */
export function jsonObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
