import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { quotedCommand } from '../../src/base/printable.js';

export const root = fileURLToPath(new URL('../../', import.meta.url));

/** The program that `npm run build` makes. */
export function program(): string {
  if (!existsSync(join(root, 'dist/cli.js')))
    throw new Error('this test runs the built program: npm run build first');
  return join(root, 'bin/whyslow.js');
}

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly stdin?: Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Runs the built command line in its own process. */
export function whyslow(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const stdin = options.stdin ?? new Uint8Array();
  return start(process.execPath, [program(), ...args], { ...options, stdin }).ended;
}

/** A running process and its output so far. */
export interface Started {
  readonly child: ChildProcessWithoutNullStreams;
  readonly said: { stdout: string; stderr: string };
  readonly ended: Promise<Ran>;
}

export function start(program: string, args: readonly string[], options: RunOptions = {}): Started {
  // Not set, not empty: Node 22 warns where it finds both.
  const env = { ...process.env, NO_COLOR: undefined, FORCE_COLOR: undefined, ...options.env };
  const child = spawn(program, args, { cwd: options.cwd ?? root, env });
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
    });
  child.stdin.on('error', () => {}); // it may end before it has read everything
  if (options.stdin !== undefined) child.stdin.end(options.stdin);
  const ended = new Promise<Ran>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...said }));
  });
  return { child, said, ended };
}

/** The program on a terminal of its own, which merges both outputs. */
export function startOnTerminal(args: readonly string[], options: RunOptions = {}): Started {
  const command = quotedCommand([process.execPath, program(), ...args]);
  // `exec`: a shell in between may end at a Ctrl-C without waiting for the command.
  const env = { ...options.env, SHELL: '/bin/sh' };
  return start('script', ['-qec', `exec ${command}`, '/dev/null'], { ...options, env });
}

/** Waits until the condition holds. */
export async function until(condition: () => boolean, what: string, seconds = 120): Promise<void> {
  for (const end = Date.now() + seconds * 1000; !condition(); await sleep(20))
    if (Date.now() > end) throw new Error(`${what}: not within ${seconds} s`);
}

export { inFolder } from './folder.js';
