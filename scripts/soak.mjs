// `npm run soak [FACTOR]`: the random tests with FACTOR (20) other seeds, FACTOR times as many simulated runs, and the
// fuzzer. Takes about an hour. A failure prints its seed; to repeat it: WHYSLOW_SEED=<seed> npx vitest run <file>.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ensureInstalled, randomSeed, root, run, tryRun } from './lib.mjs';

const factor = Number(process.argv[2] ?? 20);
const log = fileURLToPath(new URL('.build/soak-cases.txt', root));
const failed = [];

ensureInstalled();
run('node', ['scripts/build.mjs']);
mkdirSync(new URL('.build/', root), { recursive: true });
const random = randomTests();
for (let i = 0; i < factor; i++) {
  const seed = randomSeed();
  soak(`random tests with seed ${seed}`, random, { WHYSLOW_SEED: seed });
}
soak('simulated runs', ['test/e2e/simulated-ranks.test.ts'], { WHYSLOW_SOAK: `${factor}` });
soak('fuzzing', ['test/property/reader.test.ts'], {
  WHYSLOW_SEED: randomSeed(),
  WHYSLOW_FUZZ: `${factor * 5000}`,
});
console.log(failed.length === 0 ? 'nothing failed' : `failed: ${failed.join(', ')}`);
process.exit(failed.length === 0 ? 0 : 1);

/** Runs test files, and prints how many cases they tried and how long that took. */
function soak(name, files, settings) {
  const started = Date.now();
  writeFileSync(log, '');
  const env = { ...process.env, ...settings, WHYSLOW_CASES: log };
  const options = ['--project', '!jobs', '--testTimeout', '86400000', '--reporter', 'dot'];
  const status = tryRun('node', ['node_modules/vitest/vitest.mjs', 'run', ...options, ...files], { env });
  if (status !== 0) failed.push(name);
  const cases = readFileSync(log, 'utf8')
    .split('\n')
    .reduce((sum, line) => sum + Number(line), 0);
  console.log(`${name}: ${cases} cases in ${Math.round((Date.now() - started) / 1000)} s\n`);
}

function randomTests() {
  const within = (folder) =>
    readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' }).map((f) => `${folder}/${f}`);
  return ['src', 'test']
    .flatMap(within)
    .filter((f) => f.endsWith('.test.ts') && readFileSync(new URL(f, root), 'utf8').includes("'fast-check'"));
}
