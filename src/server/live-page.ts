import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Messages between `whyslow run` and live.js. */
export type ToLive = 'ended';
export type FromLive = { readonly url: string } | { readonly error: string } | { readonly done: true };

/** How long it may take to start, in ms. The job waits for it. */
const START_MS = 5000;

/** The page of a job that runs, served by another process. */
export class LivePage {
  private constructor(
    readonly url: string,
    readonly child: ChildProcess,
  ) {}

  /** Port 0: a free one. A sentence: why there is no page. Never throws. */
  static async start(out: string, port: number, price?: number): Promise<LivePage | string> {
    // The bundle has live.js next to this module.
    const program = fileURLToPath(new URL('./live.js', import.meta.url));
    const child = fork(program, [out, `${port}`, ...(price === undefined ? [] : [`${price}`])], {
      execArgv: ['--v8-pool-size=1'],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      // Ctrl-C in the terminal must not end it before the job.
      detached: true,
    });
    const said = await firstMessage(child);
    if ('url' in said) return new LivePage(said.url, child);
    if (child.connected) child.disconnect();
    return 'error' in said ? said.error : 'it did not start';
  }

  /** The job has ended. Resolves once the page shows the whole of it, or is gone. */
  async jobEnded(): Promise<void> {
    if (!this.child.connected) return;
    const done = Promise.race([once(this.child, 'message'), this.gone()]);
    this.child.send('ended' satisfies ToLive, () => {});
    await done;
  }

  /** Resolves when the page can no longer be asked for. */
  async gone(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, 'exit');
  }

  close(): void {
    if (this.child.connected) this.child.disconnect();
  }
}

function firstMessage(child: ChildProcess): Promise<FromLive> {
  return new Promise((resolve) => {
    const fail = () => resolve({ error: 'it did not start' });
    child.once('message', (message) => resolve(message as FromLive));
    child.once('error', fail).once('exit', fail);
    setTimeout(fail, START_MS).unref();
  });
}
