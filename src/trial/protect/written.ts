import { chmod, lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readJson } from '../../launch/small-file.js';

/** What a job has written or deleted in the folder that catches it. */
export interface Written {
  readonly files: number;
  readonly bytes: number;
  readonly deleted: number;
  /** Paths as the job used them, the first ones. */
  readonly paths: readonly string[];
  /** Places that could not be caught, so the job could only read there. */
  readonly readOnly: readonly string[];
}

export const NOTHING_WRITTEN: Written = { files: 0, bytes: 0, deleted: 0, paths: [], readOnly: [] };

const MOST_PATHS = 20;
const MOST_ENTRIES = 100_000;
/** Python's own. */
const COMPILED = '__pycache__';

export async function writtenTo(layers: string): Promise<Written> {
  const known = await readJson(join(layers, 'layers.json'));
  const found = { files: 0, bytes: 0, deleted: 0, paths: [] as string[], readOnly: [] as string[] };
  if (!known) return found;
  let left = MOST_ENTRIES;
  const walk = async (folder: string, shown: string): Promise<void> => {
    for (const name of await readdir(folder).catch(() => [])) {
      if (--left < 0) return;
      const path = join(folder, name);
      const stats = await lstat(path).catch(() => null);
      if (!stats || name === COMPILED) continue;
      if (stats.isDirectory()) await walk(path, join(shown, name));
      else {
        // A deleted file leaves a device in the overlay, which hides it.
        if (stats.isCharacterDevice()) found.deleted++;
        else found.files++;
        found.bytes += stats.size;
        if (found.paths.length < MOST_PATHS) found.paths.push(join(shown, name));
      }
    }
  };
  for (const entry of arrayOf(known.overlays)) {
    const [path, upper] = arrayOf(entry).map(String);
    if (path !== undefined && upper !== undefined) await walk(upper, path);
  }
  return { ...found, readOnly: arrayOf(known.read_only).map(String) };
}

/** The mount namespace of the job. Null: it has none of its own. */
export async function namespaceOf(layers: string): Promise<string | null> {
  const namespace = (await readJson(join(layers, 'layers.json')))?.namespace;
  return typeof namespace === 'string' ? namespace : null;
}

const arrayOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Also folders that the job has made unreadable for itself. Never fails. */
export async function removeTree(folder: string): Promise<void> {
  const remove = () => rm(folder, { recursive: true, force: true, maxRetries: 3 });
  await remove().catch(async () => {
    await openUp(folder);
    await remove().catch(() => {});
  });
}

async function openUp(folder: string): Promise<void> {
  await chmod(folder, 0o700).catch(() => {});
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => []))
    if (entry.isDirectory()) await openUp(join(folder, entry.name));
}
