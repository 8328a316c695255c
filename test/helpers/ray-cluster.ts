import { chmodSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { start, until } from './cli.js';
import { job, python } from './python.js';

/** A real Ray cluster of two nodes, in processes of this machine, that is gone after `use`. */
export async function withRay<T>(
  node: string,
  use: (cluster: { readonly options: readonly string[]; killNode(): Promise<void> }) => Promise<T>,
): Promise<T> {
  const env = { WHYSLOW_NODE: node, RAY_DISABLE_IMPORT_WARNING: '1', RAY_USAGE_STATS_ENABLED: '0' };
  const { child, said, ended } = start(python, [job('ray_cluster.py')], { env });
  try {
    await until(() => said.stdout.includes('\n') || child.exitCode !== null, 'the Ray cluster', 180);
    const address = said.stdout.split('\n')[0]!;
    const killNode = async () => {
      child.stdin.write('kill\n');
      await until(() => said.stdout.includes('killed'), 'the end of a node');
    };
    return await use({ options: ['--on', 'ray', '--address', address], killNode });
  } finally {
    child.stdin.end();
    await ended;
  }
}

/** The environment in which `whyslow … --on ray` finds the Python with Ray. */
export const withRayOnPath = { PATH: [dirname(python), process.env.PATH].join(delimiter), VIRTUAL_ENV: '' };

/** Node.js that does something first: a shell script. `$*` is the command. */
export function nodeThatFirst(folder: string, does: string): string {
  const path = join(folder, 'node');
  writeFileSync(path, `#!/bin/sh\n${does}\nexec "${process.execPath}" "$@"\n`);
  chmodSync(path, 0o755);
  return path;
}
