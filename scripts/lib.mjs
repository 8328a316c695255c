// Shared by the scripts: plain Node, because they run before anything is installed.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, lstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root = new URL('../', import.meta.url);

/** Runs a program in the repository's root; returns its exit status. */
export function tryRun(program, args, options = {}) {
  const { status, error } = spawnSync(program, args, {
    cwd: fileURLToPath(root),
    stdio: 'inherit',
    ...options,
  });
  if (error) throw error;
  return status ?? 1;
}

/** The same, and ends the script when it fails. */
export function run(program, args, options = {}) {
  const status = tryRun(program, args, options);
  if (status !== 0) process.exit(status);
}

/**
 * Starts a program whose output goes into a file in .build. The function it returns waits, prints that, and gives the status.
 * It is ended with this script.
 */
export function startQuietly(program, args, log, options = {}) {
  const path = fileURLToPath(new URL(`.build/${log}`, root));
  const file = openSync(path, 'w');
  const child = spawn(program, args, { cwd: fileURLToPath(root), ...options, stdio: ['ignore', file, file] });
  closeSync(file);
  const ended = once(child, 'exit');
  process.once('exit', () => child.kill());
  return async () => {
    const [status] = await ended;
    process.stdout.write(readFileSync(path, 'utf8'));
    return status ?? 1;
  };
}

/** Installs the dependencies unless they are there and newer than the lock file. A link belongs to another checkout: npm would replace it. */
export function ensureInstalled() {
  const folder = lstatSync(new URL('node_modules', root), { throwIfNoEntry: false });
  if (folder?.isSymbolicLink()) return;
  const installed = new URL('node_modules/.package-lock.json', root);
  const lock = new URL('package-lock.json', root);
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return;
  console.log('Installing dependencies (npm install) ...');
  // Not `npm ci`, which removes everything first.
  run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    shell: process.platform === 'win32',
  });
}

/** A seed for random tests, as an environment variable's value. */
export const randomSeed = () => `${Math.floor(Math.random() * 2 ** 31)}`;
