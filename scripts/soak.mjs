// `npm run soak [FACTOR] [PART…]`: all tests with their full number of cases (`npm test` runs fewer), the random tests with
// FACTOR (20) other seeds, FACTOR times as many simulated runs, the fuzzer of traces, the fuzzer of whole runs (FACTOR × 50,000
// cases, a process per core), the examples and the tutorial, real W&B, MLflow and TensorBoard, a notebook, and what doubled inputs cost.
// Without a PART it runs all of them. A failure prints its seed; to repeat it: WHYSLOW_SOAK=1 WHYSLOW_SEED=<seed> npx vitest run <file>.
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { ensureInstalled, randomSeed, root, run, tryRun } from './lib.mjs';

const many = { WHYSLOW_SOAK: '1' };
const PARTS = {
  full: () => soak('all tests with their full numbers', [], many),
  seeds: () => {
    for (let i = 0; i < factor; i++) {
      const seed = randomSeed();
      soak(`random tests with seed ${seed}`, randomTests(), { ...many, WHYSLOW_SEED: seed });
    }
  },
  simulated: () =>
    soak('simulated runs', ['test/e2e/simulated-ranks.test.ts'], { WHYSLOW_SOAK: `${factor}` }),
  facts: () => soak('facts of simulated runs', ['test/e2e/facts.test.ts'], { WHYSLOW_SOAK: `${factor}` }),
  ray: () => soak('a real Ray cluster', ['test/e2e/on-ray.test.ts'], { WHYSLOW_SOAK: `${factor}` }),
  dask: () => soak('a real Dask cluster', ['test/e2e/on-dask.test.ts'], { WHYSLOW_SOAK: `${factor}` }),
  traces: () =>
    soak('damaged traces', ['test/property/reader.test.ts'], {
      WHYSLOW_SEED: randomSeed(),
      WHYSLOW_FUZZ: `${factor * 5000}`,
    }),
  runs: () => fuzzRuns(factor * 50_000),
  hangs: () => {
    if (tryRun('node', ['--import', 'tsx', 'bench/hung-jobs.ts']) !== 0) failed.push('ranks that hang');
  },
  examples: () => {
    for (const script of ['test/soak/examples.ts', 'test/soak/tutorial.ts'])
      if (tryRun('node', ['--import', 'tsx', script]) !== 0) failed.push(script);
  },
  loggers: () => {
    if (tryRun('node', ['test/soak/loggers/run.mjs']) !== 0) failed.push('verdicts in loggers');
  },
  notebook: () => {
    if (tryRun('node', ['test/soak/notebook/run.mjs']) !== 0) failed.push('a notebook');
  },
  scaling: () => {
    if (tryRun('node', ['--import', 'tsx', 'test/soak/scaling.ts']) !== 0)
      failed.push('what doubled inputs cost');
  },
};

const args = process.argv.slice(2);
const factor = Number(args.find((arg) => /^\d+$/.test(arg)) ?? 20);
const asked = args.filter((arg) => !/^\d+$/.test(arg));
const unknown = asked.find((part) => !Object.hasOwn(PARTS, part));
if (unknown !== undefined) {
  console.error(`there is no part ${unknown}: ${Object.keys(PARTS).join(', ')}`);
  process.exit(2);
}
const log = fileURLToPath(new URL('.build/soak-cases.txt', root));
const failed = [];

ensureInstalled();
run('node', ['scripts/build.mjs']);
mkdirSync(new URL('.build/', root), { recursive: true });
for (const part of asked.length > 0 ? asked : Object.keys(PARTS)) {
  const started = Date.now();
  await PARTS[part]();
  console.log(`part ${part}: ${Math.round((Date.now() - started) / 1000)} s\n`);
}
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

/** One in ten with the WebAssembly scanner, which takes twice as long in small files. */
async function fuzzRuns(cases) {
  const lanes = availableParallelism();
  const start = (count, scanner) => {
    const args = [
      '--import',
      'tsx',
      'test/soak/fuzz.ts',
      `${Math.ceil(count / lanes)}`,
      randomSeed(),
      '0',
      scanner,
    ];
    const child = spawn('node', args, { cwd: fileURLToPath(root), stdio: 'inherit' });
    return new Promise((resolve) => child.once('exit', resolve));
  };
  for (const [count, scanner] of [
    [0.9 * cases, 'js'],
    [0.1 * cases, 'wasm'],
  ]) {
    const codes = await Promise.all(Array.from({ length: lanes }, () => start(count, scanner)));
    if (codes.some((code) => code !== 0)) failed.push(`whole runs with the ${scanner} scanner`);
  }
}

function randomTests() {
  const within = (folder) =>
    readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' }).map((f) => `${folder}/${f}`);
  return ['src', 'test']
    .flatMap(within)
    .filter((f) => f.endsWith('.test.ts') && readFileSync(new URL(f, root), 'utf8').includes("'fast-check'"));
}
