import { type Started, start, until } from './cli.js';

export interface OpenServer extends Started {
  /** With the token; ends with a slash. */
  readonly url: string;
  /** Ends it as Ctrl-C does. Returns the exit code. */
  stop(): Promise<number | null>;
}

/** Starts `whyslow open` without a browser and waits for its address. */
export async function openServer(...args: readonly string[]): Promise<OpenServer> {
  const started = start(process.execPath, ['bin/whyslow.js', 'open', '--no-open', ...args]);
  const address = () => /http:\/\/\S+(?=\n)/.exec(started.said.stdout)?.[0];
  await until(
    () => address() !== undefined || started.child.exitCode !== null,
    'whyslow open has an address',
  );
  if (!address()) throw new Error(started.said.stderr);
  const stop = async () => {
    started.child.kill('SIGINT');
    return (await started.ended).code;
  };
  return { ...started, url: address()!, stop };
}
