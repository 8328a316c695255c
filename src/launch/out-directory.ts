import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { link, rm, rmdir, writeFile } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import { describeSystemError, InputError } from '../base/input-error.js';
import { makeFolders, ownModes } from '../base/make-folders.js';
import { fileNameOf, isRunOf } from './run-id.js';
import { jsonObject, readSmallFile } from './small-file.js';

interface OutDirectory {
  readonly path: string;
  /** It did not exist before. */
  readonly isNew: boolean;
  /** A message for the user. */
  readonly note: string | null;
}

/**
 * Makes the directory of this run. If another run has it, even one that has just started, this run gets a directory next to
 * it. Throws InputError if it cannot be written: better now than after an hour of training that nobody measured.
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
  const note = `${asked} holds another run (${other}), so this run is measured into ${beside}`;
  const made = await make(resolve(beside), note);
  await claim(made.path, run);
  return made;
}

const modes = () => ownModes(process.env);

/** Readers of captures skip this folder. */
const CLAIMS = '.whyslow';
const CLAIM = 'launch';

/** Whose directory it is, of those who start at the same moment: the first one's. Null: nobody can say so there. */
async function claim(path: string, run: string): Promise<string | null> {
  const file = join(path, CLAIMS, CLAIM);
  const partial = `${file}.${randomBytes(8).toString('hex')}`;
  await orInputError(path, async () => {
    makeFolders(join(path, CLAIMS), fs, modes().folder);
    await writeFile(partial, run, { flag: 'wx', mode: modes().file });
  });
  try {
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

/** The id of the run whose files are in the directory; null when there is none. */
async function runIn(path: string): Promise<string | null> {
  const text = await readSmallFile(join(path, 'run.json'));
  return text === null ? null : String(jsonObject(text)?.run ?? 'of unknown id');
}

async function make(path: string, note: string | null): Promise<OutDirectory> {
  const made = await orInputError(path, async () => makeFolders(path, fs, modes().folder));
  return { path, note, isNew: made };
}

async function orInputError<T>(path: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    const why = describeSystemError(error);
    throw new InputError(
      `cannot write to ${path}: ${why}. The command was not started; --out chooses another folder`,
    );
  }
}

/** A path as the user would type it here. */
export function asTyped(path: string): string {
  const short = relative('', path);
  return short.startsWith('..') ? path : short || '.';
}

/** `whyslow-runs/20261115-081500-train`. With a label that all nodes share, they all get the same directory. */
export function defaultOut(command: readonly string[], label: string): string {
  return join('whyslow-runs', `${label}-${scriptName(command)}`);
}

export function timeLabel(now: Date): string {
  const two = (n: number) => String(n).padStart(2, '0');
  const date = [now.getFullYear(), two(now.getMonth() + 1), two(now.getDate())];
  return `${date.join('')}-${[now.getHours(), now.getMinutes(), now.getSeconds()].map(two).join('')}`;
}

/** The name of what is launched: the first script among the words, else the module, else the program. */
function scriptName(command: readonly string[]): string {
  const file = command.find((word) => /\.(?:py|sh)$/.test(word));
  const module = command.includes('-m') ? command[command.lastIndexOf('-m') + 1] : undefined;
  const word = file ?? module ?? command[0]!;
  return fileNameOf(basename(word).replace(/\.(?:py|sh)$/, '')) || 'run';
}
