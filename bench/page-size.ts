/** Sizes of `whyslow diagnose --html` for the loops of the zoo and for 64 simulated ranks. See bench/README.md. */
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { whyslow } from '../test/helpers/cli.js';
import { simulateRun, writeRun } from '../test/helpers/simulate/simulate.js';
import { machineLine } from './lib/side-by-side.js';

const RANKS = '.bench/simulated-64';
if (!existsSync(RANKS)) {
  mkdirSync(RANKS, { recursive: true });
  const fault = { kind: 'data' as const, ranks: [61], size: 0.3 };
  writeRun(
    simulateRun({ seed: 1, ranks: 64, steps: 8, parallelism: 'fsdp', eventsPerStep: 60, fault }),
    RANKS,
  );
}
const zoo = readdirSync('zoo/fixtures', { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => `zoo/fixtures/${entry.name}`);
const file = '.bench/page.html';
console.log(`${machineLine()}\n\n| run | page kB |\n|---|---|`);
for (const path of [...zoo, RANKS]) {
  const { stderr } = await whyslow(['diagnose', path, '--html', file]);
  if (!stderr.includes('the page is in')) throw new Error(stderr);
  console.log(`| ${path} | ${(statSync(file).size / 1e3).toFixed(0)} |`);
}
