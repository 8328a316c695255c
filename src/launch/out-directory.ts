import { mkdir, readFile } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import { describeSystemError } from '../base/input-error.js';
import { fileNameOf, isRunOf } from './run-id.js';

export interface OutDirectory {
  readonly path: string;
  /** It was not there before. */
  readonly isNew: boolean;
  /** What the user should know about it. */
  readonly note: string | null;
}

/**
 * Makes the directory of this run. One that holds another run is left alone: this run goes beside it. Nothing here stops
 * the job, which is worth more than its measurement: a directory that cannot be made is a note.
 */
export async function prepareOut(asked: string, run: string): Promise<OutDirectory> {
  const other = await runIn(resolve(asked));
  if (other === null || isRunOf(other, run)) return make(resolve(asked), null);
  const beside = `${asked}-${run}`;
  const note = `${asked} holds another run (${other}) and is left as it is; this one is in ${beside}`;
  return make(resolve(beside), note);
}

/** The id of the run whose files are there. */
async function runIn(path: string): Promise<string | null> {
  const text = await readFile(join(path, 'run.json'), 'utf8').catch(() => null);
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
