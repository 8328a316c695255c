import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** Files of the kernel, as UTF-8 because they hold paths. They are small and never wait, so they are read at once. Null: not there, or not ours to read. */
export interface MachineFiles {
  read(path: string): string | null;
  list(path: string): readonly string[];
  link(path: string): string | null;
}

/** The files of this machine, or those below another root. */
export function filesBelow(root = '/'): MachineFiles {
  return {
    read: (path) => orNull(() => readFileSync(join(root, path), 'utf8')),
    list: (path) => orNull(() => readdirSync(join(root, path))) ?? [],
    link: (path) => orNull(() => readlinkSync(join(root, path), 'utf8')),
  };
}

function orNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
