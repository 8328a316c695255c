import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { InputError } from '../../base/input-error.js';
import { packageRoot } from '../../base/package-root.js';
import { Canceled } from './tool.js';

/** What commands print as JSON is smaller; what a job prints is not needed whole. */
const MOST_OUTPUT = 16 * 2 ** 20;
const MOST_ERRORS = 64 * 1024;
/** Between asking a command to end and ending it. It may have a job to stop and files to remove. */
const GRACE_MS = 15_000;

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  /** The end of it. */
  readonly stderr: string;
}

interface ChildSetting {
  readonly cwd: string | undefined;
  readonly signal: AbortSignal;
  /** Lines that it prints on standard error. */
  readonly say: (line: string) => void;
}

/** Those that run now: they end with the server. */
const running = new Set<() => void>();

/** Ends what is still running. */
export function endChildren(): void {
  for (const end of running) end();
}

/** Runs a command of whyslow in a process group of its own, so that a canceled call ends all of it. */
export function runWhyslow(words: readonly string[], { cwd, signal, say }: ChildSetting): Promise<Ended> {
  if (signal.aborted) throw new Canceled();
  const program = fileURLToPath(new URL('bin/whyslow.js', packageRoot()));
  return new Promise((resolve, reject) => {
    // Standard input of the server is the protocol.
    const child = spawn(process.execPath, [program, ...words], {
      cwd,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (stdout.length < MOST_OUTPUT) stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-MOST_ERRORS);
      const line = text.trimEnd().split('\n').at(-1);
      if (line) say(line);
    });
    const kill = (name: NodeJS.Signals) => {
      try {
        process.kill(-child.pid!, name);
      } catch {
        // it has ended
      }
    };
    let killer: NodeJS.Timeout | undefined;
    const end = () => {
      kill('SIGTERM');
      killer ??= setTimeout(() => kill('SIGKILL'), GRACE_MS).unref();
    };
    const finished = () => {
      running.delete(end);
      signal.removeEventListener('abort', end);
      clearTimeout(killer);
    };
    running.add(end);
    signal.addEventListener('abort', end);
    child.once('error', (error) => {
      finished();
      reject(new InputError(`whyslow could not be started: ${error.message}`));
    });
    child.once('close', (code) => {
      finished();
      if (signal.aborted) reject(new Canceled());
      else resolve({ code: code ?? 1, stdout, stderr });
    });
  });
}
