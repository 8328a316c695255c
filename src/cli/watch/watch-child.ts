import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../base/package-root.js';
import { asArguments, type WatchFlags } from './watch-flags.js';

/** How long the last look, and telling of what it finds, may take once the job has ended, ms. */
const LAST_LOOK_MS = 10_000;

/**
 * `whyslow watch` in a process of its own, next to `whyslow run`: it must not keep that from passing signals on. Ends with the job, or
 * when `whyslow run` is gone and its standard input closes. Never fails.
 */
export class WatchChild {
  readonly #child: ChildProcess;

  constructor(out: string, flags: WatchFlags, maxOverhead: number | undefined, tell: (line: string) => void) {
    const args = ['watch', out, '--until-stdin-ends', '--windows', ...asArguments(flags)];
    if (maxOverhead !== undefined) args.push('--max-overhead', `${maxOverhead}`);
    const program = fileURLToPath(new URL('bin/whyslow.js', packageRoot()));
    const child = spawn(process.execPath, [program, ...args], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, NO_COLOR: '1' },
      // Ctrl-C in the terminal must not end it before the job.
      detached: true,
    });
    child.once('error', () => {});
    child.stdin.on('error', () => {});
    for (const output of [child.stdout, child.stderr])
      createInterface({ input: output })
        .on('line', tell)
        .on('error', () => {});
    this.#child = child;
  }

  /** The job has ended. Resolves once the rest of it is judged. */
  async jobEnded(): Promise<void> {
    const child = this.#child;
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
    const ended = once(child, 'close');
    child.stdin?.end();
    const late = setTimeout(() => child.kill('SIGKILL'), LAST_LOOK_MS);
    await ended.catch(() => {});
    clearTimeout(late);
  }
}
