import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import { describeSystemError } from '../base/input-error.js';
import { readJson } from './read-json.js';
import { fileNameOf, isRunOf } from './run-id.js';

interface OutDirectory {
  readonly path: string;
  /** It did not exist before. */
  readonly isNew: boolean;
  /** A message for the user. */
  readonly note: string | null;
}

/**
 * Makes the directory of this run. If it holds another run, this run gets a directory beside it. A directory that cannot be
 * made becomes a note: the job is worth more than its measurement, so nothing here stops it.
 */
export async function prepareOut(asked: string, run: string): Promise<OutDirectory> {
  const other = await runIn(resolve(asked));
  if (other === null || isRunOf(other, run)) return make(resolve(asked), null);
  const beside = `${asked}-${run}`;
  const note = `${asked} holds another run (${other}), so this run is measured into ${beside}`;
  return make(resolve(beside), note);
}

/** The id of the run whose files are in the directory; null when there is none. */
async function runIn(path: string): Promise<string | null> {
  const file = join(path, 'run.json');
  return existsSync(file) ? String((await readJson(file))?.run ?? 'of unknown id') : null;
}

async function make(path: string, note: string | null): Promise<OutDirectory> {
  try {
    return { path, note, isNew: (await mkdir(path, { recursive: true })) !== undefined };
  } catch (error) {
    const why = describeSystemError(error);
    return { path, note: `cannot make ${path}: ${why}. The job runs without being measured`, isNew: false };
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
