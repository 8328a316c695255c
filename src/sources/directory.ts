import { type Dirent, promises as fs } from 'node:fs';
import { join } from 'node:path';
import { describeSystemError } from '../base/input-error.js';
import type { ProblemLog } from '../base/problem.js';
import { naturalOrder } from './natural-order.js';

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
export async function walkDirectory(directory: string, problems: ProblemLog): Promise<readonly WalkedFile[]> {
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
