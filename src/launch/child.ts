import { spawn } from 'node:child_process';
import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { constants } from 'node:os';
import { isatty } from 'node:tty';
import { describeSystemError } from '../base/input-error.js';
import type { Environment } from './environment.js';

export interface ChildEnd {
  /** As in a shell: 128 + N when signal N ended it, 127 not found, 126 not executable. */
  readonly code: number;
  readonly signal: NodeJS.Signals | null;
  /** Why it could not be started. */
  readonly failure: string | null;
}

/** Schedulers, supervisors and people send these to us alone: pass them on to the job. */
const FORWARDED = ['SIGTERM', 'SIGUSR1', 'SIGUSR2'] as const;
/**
 * A terminal sends these to the whole process group: the job has them already, and a second one would interrupt its cleanup.
 * Without a terminal they were sent to us alone.
 */
const FROM_TERMINAL = ['SIGINT', 'SIGQUIT', 'SIGHUP'] as const;

/** Runs a command with our terminal, process group and working directory. */
export function runChild(
  command: readonly string[],
  env: Environment,
  onStart: (pid: number) => void = () => {},
): Promise<ChildEnd> {
  // Node resets the ignored SIGHUP of nohup for itself and its children: a shell sets it again.
  const words = hangupsAreIgnored(env) ? ['sh', '-c', 'trap "" HUP; exec "$@"', 'sh', ...command] : command;
  return new Promise((resolve) => {
    // Before it starts: a signal in between must not end us and leave the job without a parent.
    const restore = relaySignals((signal) => {
      // Under nohup a hangup must not reach the job.
      if (signal !== 'SIGHUP' || words === command) child.kill(signal);
    });
    const child = spawn(words[0]!, words.slice(1), { stdio: 'inherit', env });
    if (child.pid !== undefined) onStart(child.pid);
    child.once('error', (error: NodeJS.ErrnoException) => {
      if (child.pid !== undefined) return; // a signal could not be sent: `exit` is still to come
      restore();
      resolve({ ...notStarted(error, command[0]!), signal: null });
    });
    child.once('exit', (code, signal) => {
      restore();
      resolve({ code: code ?? 128 + (constants.signals[signal!] ?? 0), signal, failure: null });
    });
  });
}

function relaySignals(send: (signal: NodeJS.Signals) => void): () => void {
  const ignore = () => {};
  const hasTerminal = [0, 1, 2].some(isatty);
  for (const signal of FORWARDED) process.on(signal, send);
  for (const signal of FROM_TERMINAL) process.on(signal, hasTerminal ? ignore : send);
  return () => {
    for (const signal of [...FORWARDED, ...FROM_TERMINAL]) process.off(signal, send).off(signal, ignore);
  };
}

export function notStarted(
  error: NodeJS.ErrnoException,
  program: string,
): Pick<ChildEnd, 'code' | 'failure'> {
  if (error.code === 'ENOENT') {
    // A script with a missing interpreter fails with the same code.
    const why =
      program.includes('/') && existsSync(program) ? 'its interpreter was not found' : 'command not found';
    return { code: 127, failure: `${program}: ${why}` };
  }
  const hint = program.endsWith('.py') ? `; did you mean: python ${program}` : '';
  return { code: 126, failure: `${program}: ${describeSystemError(error)}${hint}` };
}

/** Whether we were started by nohup, or from a script that was. */
function hangupsAreIgnored(env: Environment): boolean {
  if (env._?.endsWith('/nohup')) return true;
  return stdinIsFromNohup() || parentIgnores(constants.signals.SIGHUP);
}

/** nohup replaces a terminal with an input that cannot be read. */
function stdinIsFromNohup(): boolean {
  try {
    const flags = /^flags:\s*(\d+)/m.exec(readFileSync('/proc/self/fdinfo/0', 'utf8'));
    const WRITE_ONLY = 1;
    return (
      readlinkSync('/proc/self/fd/0') === '/dev/null' && (Number.parseInt(flags![1]!, 8) & 3) === WRITE_ONLY
    );
  } catch {
    return false; // no /proc: not Linux
  }
}

function parentIgnores(signal: number): boolean {
  try {
    const status = readFileSync(`/proc/${process.ppid}/status`, 'utf8');
    const ignored = /^SigIgn:\s*([0-9a-f]+)/m.exec(status);
    return (BigInt(`0x${ignored![1]}`) & (1n << BigInt(signal - 1))) !== 0n;
  } catch {
    return false;
  }
}
