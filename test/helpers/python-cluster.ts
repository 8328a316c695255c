import { chmodSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import type { PythonEngineId } from '../../src/engines/engine.js';
import { start, until, whyslow } from './cli.js';
import { job, python } from './python.js';

/** A real cluster of two nodes, in processes of this machine. */
export interface PythonCluster {
  /** Options of whyslow. */
  readonly options: readonly string[];
  /** Has the script of the cluster do something, and waits for its answer. */
  tell(command: string, answer: string): Promise<void>;
}

/** Starts `jobs/ENGINE_cluster.py`. The cluster is gone after `use`. `node`: what its workers take for Node.js. */
export async function withCluster<T>(
  engine: PythonEngineId,
  node: string,
  use: (cluster: PythonCluster) => Promise<T>,
): Promise<T> {
  const env = { WHYSLOW_NODE: node, RAY_DISABLE_IMPORT_WARNING: '1', RAY_USAGE_STATS_ENABLED: '0' };
  const { child, said, ended } = start(python, [job(`${engine}_cluster.py`)], { env });
  const tell = async (command: string, answer: string) => {
    child.stdin.write(`${command}\n`);
    await until(() => said.stdout.includes(answer), `${answer}, as an answer to ${command}`);
  };
  try {
    await until(() => said.stdout.includes('\n') || child.exitCode !== null, `the cluster of ${engine}`, 180);
    const address = said.stdout.split('\n')[0]!;
    return await use({ options: ['--on', engine, '--address', address], tell });
  } finally {
    child.stdin.end();
    await ended;
  }
}

/** Runs whyslow where it finds the Python with the engines. */
export const onCluster = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  whyslow(args, {
    env: { PATH: [dirname(python), process.env.PATH].join(delimiter), VIRTUAL_ENV: '', ...env },
  });

/** Node.js that does something first: a shell script. `$*` is the command. */
export function nodeThatFirst(folder: string, does: string, name = 'node'): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${does}\nexec "${process.execPath}" "$@"\n`);
  chmodSync(path, 0o755);
  return path;
}

/**
 * A Node.js for the trace of rank 3. Once, its worker dies in the middle of the task (`killed` is there then). While
 * `isBroken` is there, the system kills the task, as when memory runs out.
 */
export function nodeThatDies(folder: string) {
  const [killed, isBroken] = [join(folder, 'killed'), join(folder, 'broken')];
  const node = nodeThatFirst(
    folder,
    `case "$*" in *rank-3.json*)
      mkdir ${killed} 2>/dev/null && kill -9 $PPID
      [ -e ${isBroken} ] && kill -9 $$;;
    esac`,
  );
  return { node, killed, isBroken };
}
