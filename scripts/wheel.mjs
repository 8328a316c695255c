// `npm run wheel`: builds build/wheels/whyslow-X.Y.Z-py3-none-any.whl from what `npm pack` would publish (python/setup.py).
// `--built` takes dist/ as it is.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ensureInstalled, root, run } from './lib.mjs';
import { ensurePython, python } from './python.mjs';

const WHEELS = new URL('build/wheels/', root);
const staged = new URL('.build/wheel/', root);
const at = (path, base = root) => fileURLToPath(new URL(path, base));

/** Returns the path of the wheel. */
export function buildWheel() {
  rmSync(staged, { recursive: true, force: true });
  mkdirSync(staged, { recursive: true });
  const listing = output('npm', [
    'pack',
    '--ignore-scripts',
    '--json',
    '--pack-destination',
    at('.', staged),
  ]);
  // npm 11 lists by name, npm 10 as an array.
  const [{ filename }] = Object.values(JSON.parse(listing));
  output('tar', ['-xzf', filename, '-C', '.'], at('.', staged));
  const project = new URL('package/python/', staged);
  copyFileSync(at('LICENSE'), at('LICENSE', project));
  // setuptools takes NOTICE* along.
  copyFileSync(at('dist/THIRD_PARTY_NOTICES'), at('NOTICES', project));
  const build = 'import sys, setuptools.build_meta as backend; backend.build_wheel(sys.argv[1])';
  output(at(python), ['-c', build, at('wheel', staged)], at('.', project), {
    SOURCE_DATE_EPOCH: sourceDate(),
  });
  const [name] = readdirSync(at('wheel', staged));
  rmSync(WHEELS, { recursive: true, force: true });
  mkdirSync(WHEELS, { recursive: true });
  renameSync(at(`wheel/${name}`, staged), at(name, WHEELS));
  rmSync(staged, { recursive: true });
  return at(name, WHEELS);
}

/** The same commit gives the same wheel. */
const sourceDate = () =>
  spawnSync('git', ['log', '-1', '--format=%ct'], { cwd: at('.'), encoding: 'utf8' }).stdout?.trim() ||
  '315532800';

function output(program, args, cwd = at('.'), env = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, ...env },
    shell: process.platform === 'win32',
  });
  if (status === 0) return stdout;
  console.error(error?.message ?? stderr);
  process.exit(1);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  ensureInstalled();
  if (!ensurePython()) process.exit(1);
  if (!process.argv.includes('--built')) run('node', ['scripts/build.mjs']);
  const wheel = buildWheel();
  const { version } = JSON.parse(readFileSync(at('package.json'), 'utf8'));
  console.log(`${wheel} (${(statSync(wheel).size / 1e6).toFixed(1)} MB, version ${version})`);
}
