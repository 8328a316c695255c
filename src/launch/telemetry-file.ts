import { mkdir, open } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { fileNameOf } from './run-id.js';

/** Makes `dmon-<host>.txt`; after a restart, or for another launch on this machine, `dmon-<host>.2.txt`, and so on. */
export async function newTelemetryFile(folder: string, what: string, ending: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const base = `${what}-${fileNameOf(hostname())}`;
  for (let n = 1; ; n++) {
    const path = join(folder, n === 1 ? `${base}.${ending}` : `${base}.${n}.${ending}`);
    try {
      await (await open(path, 'wx')).close();
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
