// The Python part's tests: a virtual environment in .venv, then ruff, mypy, pytest. `npm run test:python` does only this.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { root, run, startQuietly, tryRun } from './lib.mjs';

const at = (path) => fileURLToPath(new URL(path, root));
const REQUIREMENTS = 'python/requirements-dev.txt';
/** A copy of what was installed last: when the list changes, pip is asked again. */
const INSTALLED = '.venv/requirements-dev.txt';
export const python = '.venv/bin/python';

/** Makes .venv and installs into it. False when that fails: then Python tests are left out, which fails CI. */
export function ensurePython() {
  const wanted = readFileSync(at(REQUIREMENTS), 'utf8');
  if (existsSync(at(python)) && existsSync(at(INSTALLED)) && readFileSync(at(INSTALLED), 'utf8') === wanted)
    return true;
  const problem = makeVenv() ?? installInto();
  if (problem === null) {
    copyFileSync(at(REQUIREMENTS), at(INSTALLED));
    return true;
  }
  console.log(`\n!! ${problem}`);
  console.log(
    '!! Left out: ruff, mypy and pytest on python/, and the tests of `whyslow run` with real jobs.',
  );
  if (process.env.CI) process.exit(1);
  return false;
}

function makeVenv() {
  if (existsSync(at(python))) return null;
  console.log('\n== Python environment (.venv)');
  const found = spawnSync('python3', ['-c', 'import sys, ensurepip; sys.exit(sys.version_info < (3, 10))']);
  if (found.error) return 'There is no python3.';
  if (found.status !== 0)
    return 'python3 is older than 3.10 or has no venv (on Debian: apt-get install python3-venv).';
  return tryRun('python3', ['-m', 'venv', '--clear', '.venv']) === 0 ? null : 'python3 -m venv failed.';
}

function installInto() {
  console.log(
    'Installing torch and the rest of python/requirements-dev.txt, once, from where pip is configured to look.',
  );
  const status = tryRun(python, [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '-r',
    REQUIREMENTS,
  ]);
  return status === 0 ? null : `pip could not install ${REQUIREMENTS}.`;
}

/** Ends the script when a check fails. */
export function checkPython() {
  // Ruff finds the settings next to the sources of python/; for others they must be named.
  for (const sources of [['python'], ['--config', 'python/pyproject.toml', 'test/e2e/jobs', 'examples']]) {
    run(python, ['-m', 'ruff', 'check', ...sources]);
    run(python, ['-m', 'ruff', 'format', '--check', ...sources]);
  }
  run(python, ['-m', 'mypy', '--config-file', 'python/pyproject.toml', 'python/src', 'python/engines']);
}

/** Two at a time: most tests wait for processes. A file's tests share what it has set up. */
const PYTEST = ['-m', 'pytest', '-q', '-n', '2', '--dist', 'loadfile'];

/** Starts all tests of python/. The function it returns waits, prints their output, and returns the exit status. */
export const startPytest = (env) =>
  startQuietly(at(python), PYTEST, 'pytest.log', { cwd: at('python'), env });

/** `--check`: only ruff and mypy. */
if (process.argv[1] === fileURLToPath(import.meta.url) && ensurePython()) {
  checkPython();
  const args = process.argv.slice(2);
  if (!args.includes('--check'))
    process.exit(tryRun(at(python), [...PYTEST, ...args], { cwd: at('python') }));
}
