// `npm test`: format, lint, types, build, then all tests of TypeScript and Python. Works on a fresh clone. With arguments, vitest
// runs with these and nothing else does: `npm test -- src/rules` builds nothing and needs no Python.
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ensureInstalled, root, run, startQuietly, tryRun } from './lib.mjs';
import { ensurePython, startPytest } from './python.mjs';

const chosen = process.argv.slice(2);
/** Both test programs add a line with their counts. */
const counts = new URL('.build/test-counts.jsonl', root);

ensureInstalled();
if (chosen.length > 0) process.exit(tryRun('node', ['node_modules/vitest/vitest.mjs', 'run', ...chosen]));

mkdirSync(new URL('.', counts), { recursive: true });
const title = (text) => console.log(`\n== ${text}`);
const withPython = ensurePython();
// Runs at the same time as the checks of TypeScript, because it uses one core. Its output comes after theirs.
const ofPython = withPython
  ? startQuietly('node', ['scripts/python.mjs', '--check'], 'python-checks.log')
  : null;
title('format and lint (biome)');
run('node', ['node_modules/@biomejs/biome/bin/biome', 'check', '.']);
title('types (tsc)');
run('node', ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json']);
run('node', ['node_modules/typescript/bin/tsc', '-p', 'web/tsconfig.json']);
title('build');
run('node', ['scripts/build.mjs']);
if (ofPython) {
  title('format, lint, types of python/ (ruff, mypy)');
  const status = await ofPython();
  if (status !== 0) process.exit(status);
}
rmSync(counts, { force: true });
const env = { ...process.env, TEST_COUNTS: fileURLToPath(counts) };
const vitest = (...args) => tryRun('node', ['node_modules/vitest/vitest.mjs', 'run', ...args], { env });
// All run in any case: one failure should not hide another.
const statuses = [];
if (withPython) {
  // Both at once, because both wait often. Then, alone, the jobs whose timing is checked.
  const pytest = startPytest(env);
  title('tests (vitest)');
  statuses.push(vitest('--project', '!jobs'));
  title('tests of python/ (pytest)');
  statuses.push(await pytest());
  title('tests with real jobs (vitest)');
  statuses.push(vitest('--project', 'jobs'));
} else {
  title('tests (vitest)');
  statuses.push(vitest());
}

const text = existsSync(counts) ? readFileSync(counts, 'utf8') : '';
const lines = text
  .split('\n')
  .filter(Boolean)
  .map((line) => JSON.parse(line));
const sum = (name) => lines.reduce((total, line) => total + line[name], 0);
console.log();
for (const what of lines.flatMap((line) => line.notCompared ?? [])) console.log(`not compared: ${what}`);
console.log(`all tests: ${sum('passed')} passed, ${sum('failed')} failed, ${sum('skipped')} skipped`);
process.exit(statuses.find((status) => status !== 0) ?? 0);
