// Environments for tests that need packages which `npm test` does not install.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The Python of an environment that has the packages of .venv and these. It is kept in .build. */
export function environment(name, packages) {
  const folder = join(root, '.build', name);
  const python = join(folder, 'bin/python');
  if (existsSync(join(folder, 'ready'))) return python;
  must('python3', ['-m', 'venv', '--clear', folder]);
  writeFileSync(join(packagesOf(folder), 'venv.pth'), `${packagesOf(join(root, '.venv'))}\n`);
  must(python, ['-m', 'pip', 'install', '--quiet', ...packages]);
  writeFileSync(join(folder, 'ready'), '');
  return python;
}

function packagesOf(folder) {
  const lib = join(folder, 'lib');
  return join(
    lib,
    readdirSync(lib).find((name) => name.startsWith('python3')),
    'site-packages',
  );
}

/** Runs a program. If it fails, prints what it printed, and ends this one. */
export function must(program, args, options = {}) {
  const ran = spawnSync(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    timeout: 300_000,
    ...options,
  });
  if (ran.status === 0) return;
  const why = ran.error?.message ?? `${ran.stdout ?? ''}${ran.stderr ?? ''}`;
  console.error(`${program} ${args.join(' ')}: ${why}`);
  process.exit(1);
}
