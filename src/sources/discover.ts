import { type Dirent, promises as fs, type Stats } from 'node:fs';
import { isAbsolute, join, relative } from 'node:path';
import { describeSystemError, InputError } from '../base/input-error.js';
import { type Problem, ProblemLog } from '../base/problem.js';
import { isRemote, shownAddress } from './remote/address.js';

export interface FoundFile {
  /** As the user would write it; `-` is standard input. */
  readonly path: string;
  /** Named by the user or matched by a pattern of the user, not found by walking a directory. */
  readonly explicit: boolean;
  /** In bytes; 0 where it is unknown (standard input, pipes). */
  readonly size: number;
}

interface Discovery {
  readonly files: readonly FoundFile[];
  readonly problems: readonly Problem[];
}

/**
 * Finds the files that these paths stand for: files, directories (all files below them), patterns such as `runs/*.json.gz`
 * (unless a file has exactly that name), `-`, addresses (`s3:`, `gs:`, `https:`), and `@FILE`, a list of any of these. Each real file is listed once. Throws InputError when a path does not
 * exist, or when there are no files at all.
 */
export async function discoverFiles(paths: readonly string[]): Promise<Discovery> {
  const all = (await Promise.all(paths.map(namedPaths))).flat();
  // Loaded when needed: most files are on disks.
  const remote = all.some(isRemote)
    ? await (await import('./remote/find-remote.js')).findRemote(all)
    : new Map<string, readonly FoundFile[]>();
  const finder = new Finder(remote);
  for (const path of all) await finder.look(path);
  return finder.result(paths.map(shownAddress));
}

/** The lines of `@FILE`, one path each; any other path itself. A file whose own name begins with @ is meant. */
export async function namedPaths(path: string): Promise<readonly string[]> {
  if (!path.startsWith('@') || (await fs.stat(path).catch(() => null))) return [path];
  const text = await fs.readFile(path.slice(1), 'utf8').catch((error: unknown) => {
    throw new InputError(`cannot read the list ${path.slice(1)}: ${describeSystemError(error)}`);
  });
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const listed = lines.filter((line) => line !== '' && !line.startsWith('#'));
  if (listed.length === 0) throw new InputError(`the list ${path.slice(1)} names no files`);
  return listed;
}

class Finder {
  readonly #problems = new ProblemLog();
  /** By real path, in the order of discovery. */
  readonly #files = new Map<string, FoundFile>();
  readonly #remote: ReadonlyMap<string, readonly FoundFile[]>;

  constructor(remote: ReadonlyMap<string, readonly FoundFile[]>) {
    this.#remote = remote;
  }

  async look(path: string): Promise<void> {
    const remote = this.#remote.get(path);
    if (remote) {
      const isCapture = (file: FoundFile) => file.explicit || !file.path.split('/').some(isSkipped);
      const inOrder = remote.filter(isCapture).sort((a, b) => naturalOrder(a.path, b.path));
      for (const file of inOrder) this.#add(file, file.path);
      return;
    }
    if (path === '-') return this.#add({ path, explicit: true, size: 0 }, '-');
    const stats = await statOrNull(path);
    if (stats !== null) return this.#take(path, stats);
    for (const match of await expand(path)) {
      const matched = await fs.stat(match);
      // Pipes and devices only by name: a pipe that nobody writes to would hold up all files.
      if (matched.isFile() || matched.isDirectory()) await this.#take(match, matched);
    }
  }

  result(paths: readonly string[]): Discovery {
    if (this.#files.size === 0) {
      const unreadable = this.#problems.list().find((p) => p.code === 'unreadable-path');
      const why = unreadable ? `: ${unreadable.message.replace(/\.$/, '')}` : '';
      throw new InputError(`no files found in ${paths.join(', ') || 'an empty list of paths'}${why}`);
    }
    return { files: [...this.#files.values()], problems: this.#problems.list() };
  }

  async #take(path: string, stats: Stats): Promise<void> {
    if (!stats.isDirectory()) {
      // The pipe of `<(command)` has no path of its own.
      const realPath = stats.isFile() ? await fs.realpath(path) : path;
      return this.#add({ path, explicit: true, size: stats.size }, realPath);
    }
    const files = await walkDirectory(path, this.#problems);
    if (files.length === 0) {
      const message = `There are no files in ${path}.`;
      this.#problems.add('empty-directory', { message, consequence: 'It adds nothing to the result.' });
    }
    for (const file of files) this.#add({ path: file.path, explicit: false, size: file.size }, file.realPath);
  }

  #add(file: FoundFile, realPath: string): void {
    const known = this.#files.get(realPath);
    if (known === undefined) {
      this.#files.set(realPath, file);
      return;
    }
    if (!file.explicit) return;
    // It keeps its position in the list, but the user did ask for it.
    this.#files.set(realPath, { ...known, explicit: true });
    const message = `${shownAddress(file.path)} is the same file as ${shownAddress(known.path)}.`;
    this.#problems.add('same-file-twice', { message, consequence: 'It was read once.' });
  }
}

const OTHER_ADDRESS = /^[a-z][a-z\d+.-]*:\/\//i;
const ADDRESSES = 'of addresses, only s3://, gs://, https:// and http:// can be read';

async function statOrNull(path: string): Promise<Stats | null> {
  try {
    return await fs.stat(path);
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    // Loaded only here: loading it takes longer than reading most files, and few paths are patterns.
    if (isMissing && (await import('tinyglobby')).isDynamicPattern(path)) return null;
    const why = isMissing && OTHER_ADDRESS.test(path) ? ADDRESSES : describeSystemError(error);
    throw new InputError(`cannot read ${path}: ${why}`);
  }
}

async function expand(pattern: string): Promise<readonly string[]> {
  const { glob } = await import('tinyglobby');
  const found = await glob([pattern], { absolute: true, expandDirectories: false, onlyFiles: false });
  const cwd = process.cwd();
  const paths = isAbsolute(pattern) ? found : found.map((path) => relative(cwd, path));
  if (paths.length === 0) throw new InputError(`no file matches ${pattern}`);
  return paths.map((path) => path.replace(/(?<=.)\/$/, '')).sort(naturalOrder);
}

/** Folders without captures. Some hold a hundred thousand files. */
const SKIPPED = new Set(['.git', 'node_modules', '__pycache__', '.whyslow']);

/** Files that a running or killed capture has not finished. They get their own names once they are whole. */
const UNFINISHED = /^\..+\.partial-/;

/** Whether a name, of a folder or a file, is none of a capture. */
export const isSkipped = (name: string): boolean => SKIPPED.has(name) || UNFINISHED.test(name);

/** A regular file found in a directory. */
interface WalkedFile {
  readonly path: string;
  readonly realPath: string;
  readonly size: number;
}

interface Walking {
  /** By real path. */
  readonly files: Map<string, WalkedFile>;
  readonly problems: ProblemLog;
  /** Real paths of the directories entered, so that links cannot lead in circles. */
  readonly entered: Set<string>;
  /** Links, followed last, so that a file is shown under its own name and not under that of a link to it. */
  readonly links: string[];
}

/** Every regular file below a directory, in natural order, without pipes, sockets and devices. */
async function walkDirectory(directory: string, problems: ProblemLog): Promise<readonly WalkedFile[]> {
  const walking: Walking = { files: new Map(), problems, entered: new Set(), links: [] };
  await enter(directory, walking);
  for (let link = walking.links.shift(); link !== undefined; link = walking.links.shift()) {
    await attempt(link, walking, follow);
  }
  return [...walking.files.values()].sort((a, b) => naturalOrder(a.path, b.path));
}

async function enter(directory: string, walking: Walking): Promise<void> {
  await attempt(directory, walking, async () => {
    const real = await fs.realpath(directory);
    if (walking.entered.has(real)) return;
    walking.entered.add(real);
    for (const entry of await fs.readdir(directory, { withFileTypes: true })) {
      await look(directory, entry, walking);
    }
  });
}

async function look(directory: string, entry: Dirent, walking: Walking): Promise<void> {
  const path = join(directory, entry.name);
  if (entry.isSymbolicLink()) walking.links.push(path);
  else if (UNFINISHED.test(entry.name)) return;
  else if (entry.isFile()) await attempt(path, walking, keep);
  else if (entry.isDirectory() && !SKIPPED.has(entry.name)) await enter(path, walking);
}

async function follow(link: string, walking: Walking): Promise<void> {
  const stats = await fs.stat(link);
  if (stats.isDirectory()) await enter(link, walking);
  else if (stats.isFile()) await keep(link, walking);
}

async function keep(path: string, walking: Walking): Promise<void> {
  const [realPath, { size }] = await Promise.all([fs.realpath(path), fs.stat(path)]);
  if (!walking.files.has(realPath)) walking.files.set(realPath, { path, realPath, size });
}

/** A path that cannot be read is a problem and does not end the walk: the files of other ranks are still good. */
async function attempt(
  path: string,
  walking: Walking,
  action: (path: string, walking: Walking) => Promise<void>,
) {
  try {
    await action(path, walking);
  } catch (error) {
    walking.problems.add('unreadable-path', {
      message: `${path} cannot be read: ${describeSystemError(error)}.`,
      consequence: 'Its content is missing.',
    });
  }
}

/** Made when it is first needed: that takes 7 ms, and one file needs no order. */
let collator: Intl.Collator | undefined;

/** Orders paths as people count: `rank2` before `rank10`, folder by folder. */
export function naturalOrder(a: string, b: string): number {
  collator ??= new Intl.Collator('en', { numeric: true });
  const left = a.split('/');
  const right = b.split('/');
  for (const [i, name] of left.entries()) {
    const other = right[i];
    if (other === undefined) break;
    // To the collator `01` equals `1`. Their order does not matter, but it must always be the same.
    const order = collator.compare(name, other) || compareText(name, other);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
