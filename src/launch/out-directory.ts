import { randomBytes } from 'node:crypto';
import { link, mkdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import { describeSystemError } from '../base/input-error.js';
import { fileNameOf, isRunOf } from './run-id.js';
import { readSmallFile } from './small-file.js';

export interface OutDirectory {
  readonly path: string;
  /** It was not there before. */
  readonly isNew: boolean;
  /** What the user should know about it. */
  readonly note: string | null;
}

/**
 * Makes the directory of this run. One that another run has is left alone, even if that has just started: this run goes
 * beside it. Nothing here stops the job, which is worth more than its measurement: a directory that cannot be made is a
 * note.
 */
export async function prepareOut(asked: string, run: string): Promise<OutDirectory> {
  const path = resolve(asked);
  const recorded = await runIn(path);
  if (recorded === null || isRunOf(recorded, run)) {
    const made = await make(path, null);
    const owner = await claim(path, run);
    if (owner === null || isRunOf(owner, run)) return made;
    return besideOf(asked, owner, run);
  }
  return besideOf(asked, recorded, run);
}

async function besideOf(asked: string, other: string, run: string): Promise<OutDirectory> {
  const beside = `${asked}-${run}`;
  const note = `${asked} holds another run (${other}) and is left as it is; this one is in ${beside}`;
  const made = await make(resolve(beside), note);
  await claim(made.path, run);
  return made;
}

/** Readers of captures skip this folder. */
const CLAIMS = '.whyslow';
const CLAIM = 'launch';

/** Whose directory it is, of those who start at the same moment: the first one's. Null: nobody can say so there. */
async function claim(path: string, run: string): Promise<string | null> {
  const file = join(path, CLAIMS, CLAIM);
  const partial = `${file}.${randomBytes(8).toString('hex')}`;
  try {
    await mkdir(join(path, CLAIMS), { recursive: true });
    await writeFile(partial, run, { flag: 'wx' });
    // Unlike a rename this fails if there is one, and unlike an exclusive open it never shows half a file.
    await link(partial, file);
    return run;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return null;
    return (await readSmallFile(file)) ?? 'of unknown id';
  } finally {
    await rm(partial, { force: true }).catch(() => {});
  }
}

/** Gives back a directory into which nothing was captured, and removes it if it is empty and we made it. */
export async function releaseOut({ path, isNew }: Pick<OutDirectory, 'path' | 'isNew'>): Promise<void> {
  if ((await runIn(path)) !== null) return;
  await rm(join(path, CLAIMS, CLAIM), { force: true }).catch(() => {});
  await rmdir(join(path, CLAIMS)).catch(() => {}); // only when there is nothing in it
  if (isNew) await rmdir(path).catch(() => {});
}

/** The id of the run whose files are there. */
async function runIn(path: string): Promise<string | null> {
  const text = await readSmallFile(join(path, 'run.json'));
  if (text === null) return null;
  try {
    return String((JSON.parse(text) as { run?: unknown }).run ?? 'of unknown id');
  } catch {
    return 'of unknown id';
  }
}

async function make(path: string, note: string | null): Promise<OutDirectory> {
  try {
    return { path, note, isNew: (await mkdir(path, { recursive: true })) !== undefined };
  } catch (error) {
    const why = describeSystemError(error);
    return { path, note: `cannot make ${path}: ${why}. The job runs without being measured`, isNew: false };
  }
}

/** A path as one would type it here. */
export function asTyped(path: string): string {
  const short = relative('', path);
  return short.startsWith('..') ? path : short || '.';
}

/** `whyslow-runs/20261115-081500-train`; with an id that all nodes share, they all find the same one. */
export function defaultOut(command: readonly string[], label: string): string {
  return join('whyslow-runs', `${label}-${scriptName(command)}`);
}

export function timeLabel(now: Date): string {
  const two = (n: number) => String(n).padStart(2, '0');
  const date = [now.getFullYear(), two(now.getMonth() + 1), two(now.getDate())];
  return `${date.join('')}-${[now.getHours(), now.getMinutes(), now.getSeconds()].map(two).join('')}`;
}

/** What is run, of all the words of a launcher: the first Python file, else the module, else the program. */
function scriptName(command: readonly string[]): string {
  const file = command.find((word) => /\.(?:py|sh)$/.test(word));
  const module = command[command.lastIndexOf('-m') + 1];
  const word = file ?? (command.includes('-m') && module ? module : command[0]!);
  return fileNameOf(basename(word).replace(/\.(?:py|sh)$/, '')) || 'run';
}
