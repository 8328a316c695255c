import { spawn } from 'node:child_process';
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

/** What a program printed. */
export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Null: there is no such program. It is ended when it takes too long; what it printed until then is kept. */
export type RunCommand = (
  program: string,
  args: readonly string[],
  seconds: number,
) => Promise<CommandResult | null>;

/** More output than any of our questions has for an answer. */
const MAX_OUTPUT = 16 * 1024 * 1024;

export const runCommand: RunCommand = (program, args, seconds) =>
  new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const said = { stdout: '', stderr: '' };
    const late = setTimeout(() => child.kill('SIGKILL'), seconds * 1000);
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (text: string) => {
        if (said[name].length < MAX_OUTPUT) said[name] += text;
      });
    child.once('error', () => {
      clearTimeout(late);
      resolve(null);
    });
    child.once('close', (code) => {
      clearTimeout(late);
      resolve({ code, stdout: said.stdout, stderr: said.stderr });
    });
  });
