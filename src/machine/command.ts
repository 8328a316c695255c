import { spawn } from 'node:child_process';

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
