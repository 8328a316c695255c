import { readdir, realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { InputError } from '../../base/input-error.js';

/** Pieces of a path that stand for more than a name. */
const PATTERN = /[*?[\]{}]/;
const REMOTE = /^[a-z][a-z0-9+.-]*:\/\//i;

/** The folders that the tools may read. Null: whatever the user may. */
export class Roots {
  private constructor(readonly folders: readonly string[] | null) {}

  static readonly everything = new Roots(null);

  /** Folders that do not exist hold nothing. */
  static async of(folders: readonly string[]): Promise<Roots> {
    const real = await Promise.all(folders.map((f) => realpath(resolve(f)).catch(() => null)));
    return new Roots(real.filter((f) => f !== null));
  }

  /** As a client gives them: `file:` addresses. */
  static ofClient(uris: readonly string[]): Promise<Roots> {
    return Roots.of(
      uris.flatMap((uri) => {
        try {
          return [fileURLToPath(uri)];
        } catch {
          return []; // no file: nothing here to read
        }
      }),
    );
  }

  /** The path as a tool may open it. Throws InputError for one that is outside. Links are followed first. */
  async allowed(path: string): Promise<string> {
    // Standard input is the protocol.
    if (path === '-' || path === '')
      throw new InputError(`${path || 'an empty path'}: name a file or a folder`);
    const { folders } = this;
    if (folders === null) return path;
    const shown = folders.join(', ') || 'none of them exists';
    const refuse = (why: string) => new InputError(`${path}: ${why} (${shown})`);
    if (REMOTE.test(path)) throw refuse('only files in the folders that were given can be read');
    // `@list` names other paths, which would have to be checked too.
    const asFile = path.startsWith('@') ? `.${sep}${path}` : path;
    if (PATTERN.test(asFile) && (await realpath(resolve(asFile)).catch(() => null)) === null)
      throw refuse('patterns are not followed here: name the folder');
    for (const base of isAbsolute(asFile) ? [''] : folders) {
      const real = await realOf(resolve(base, asFile));
      if (folders.some((folder) => isInside(real, folder))) {
        if (isAbsolute(asFile) || (await realpath(real).catch(() => null)) !== null) {
          const link = await linkOutside(real, folders);
          if (link !== null) throw refuse(`${link} in it leads outside the folders that may be read`);
          return real;
        }
      }
    }
    throw refuse('it is outside the folders that may be read');
  }
}

/** Readers follow the links in a folder. The first one that leads outside; null: none does. */
async function linkOutside(folder: string, folders: readonly string[]): Promise<string | null> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  for (const entry of entries) {
    if (!entry.isSymbolicLink()) continue;
    const link = join(entry.parentPath, entry.name);
    const real = await realpath(link).catch(() => null);
    if (real !== null && !folders.some((f) => isInside(real, f))) return relative(folder, link);
  }
  return null;
}

/** Of a path that does not exist: its folder, resolved as far as it does. */
async function realOf(path: string): Promise<string> {
  const real = await realpath(path).catch(() => null);
  if (real !== null) return real;
  const parent = dirname(path);
  return parent === path ? path : join(await realOf(parent), relative(parent, path));
}

function isInside(path: string, folder: string): boolean {
  const below = relative(folder, path);
  return below === '' || !(below === '..' || below.startsWith(`..${sep}`) || isAbsolute(below));
}
