import { InputError } from '../../base/input-error.js';
import { isRemote, shownAddress } from './address.js';
import { sizeOf } from './remote-source.js';
import { asRefusal, type RemoteFile } from './store.js';
import { storeOf } from './stores.js';

export interface FoundRemote extends RemoteFile {
  /** Named by the user, not found below a prefix. */
  readonly explicit: boolean;
}

/** No run has more files. A prefix that is too short must not list a whole company's bucket. */
const MAX_LISTED = 200_000;
/** Asked at the same time. */
const AT_ONCE = 16;

/** The files that these addresses stand for: objects, and prefixes of buckets with all objects below them. */
export async function findRemote(
  paths: readonly string[],
): Promise<ReadonlyMap<string, readonly FoundRemote[]>> {
  const found = new Map<string, readonly FoundRemote[]>();
  const queue = [...new Set(paths.filter(isRemote))].values();
  const work = async () => {
    for (const path of queue) found.set(path, await look(path));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return found;
}

async function look(path: string): Promise<readonly FoundRemote[]> {
  const { list } = storeOf(path);
  if (list === null) {
    if (path.replace(/[?#].*$/s, '').endsWith('/'))
      throw new InputError(
        `${shownAddress(path)} is a folder of a web server, which cannot be listed; name the files in it, ` +
          'or put their addresses into a file and pass @FILE',
      );
    return [{ path, size: await sizeOrUnknown(path), explicit: true }];
  }
  const isFolder = /^\w+:\/\/[^/]*\/?$|\/$/.test(path);
  if (!isFolder) {
    const size = await sizeOf(path).catch((error: unknown) => {
      if (error instanceof InputError) return 0; // reading it says why
      throw error;
    });
    if (size !== null) return [{ path, size, explicit: true }];
  }
  const pattern = isFolder ? null : patternOf(path);
  const below = pattern
    ? path.slice(0, path.search(/[*?]/)).replace(/[^/]*$/, '')
    : path.replace(/\/*$/, '/');
  const listed: FoundRemote[] = [];
  try {
    for await (const file of list(below)) {
      if (file.path.endsWith('/')) continue; // stands for a folder
      if (pattern && !pattern.test(file.path)) continue;
      if (listed.push({ ...file, explicit: false }) > MAX_LISTED)
        throw new InputError(`${below} has more than ${MAX_LISTED} objects; name a longer prefix`);
    }
  } catch (error) {
    throw asRefusal(error, below);
  }
  if (listed.length === 0)
    throw new InputError(`cannot read ${path}: there is no such object, and none below it`);
  return listed;
}

/** A file that cannot be read is listed all the same: reading it says why, and the others are still good. */
async function sizeOrUnknown(path: string): Promise<number> {
  try {
    return (await sizeOf(path)) ?? 0;
  } catch (error) {
    if (error instanceof InputError) return 0;
    throw error;
  }
}

/** `*` and `?` within a name, `**` across folders. Null: no pattern. */
function patternOf(path: string): RegExp | null {
  if (!/[*?]/.test(path)) return null;
  const source = path.replace(/\*\*\/?|[*?]|[.+^${}()|[\]\\]/g, (c) =>
    c.startsWith('**') ? '.*' : c === '*' ? '[^/]*' : c === '?' ? '[^/]' : `\\${c}`,
  );
  return new RegExp(`^${source}$`, 's');
}
