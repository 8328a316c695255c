/** From 64 to 512 simulated ranks: time and memory of a diagnosis, in one run. See bench/README.md. */
import { existsSync, mkdirSync } from 'node:fs';
import type { Report } from '../src/report/report.js';
import { simulateRun, writeRun } from '../test/helpers/simulate/simulate.js';
import { argument, best, machineLine, median, sideBySide } from './lib/side-by-side.js';

const MOST = argument('ranks', 512);
const ROUNDS = argument('rounds', 3);
const sizes = [MOST / 8, MOST / 4, MOST / 2, MOST];

for (const ranks of sizes) {
  const folder = `.bench/simulated-${ranks}`;
  if (existsSync(folder)) continue;
  mkdirSync(folder, { recursive: true });
  const fault = { kind: 'data' as const, ranks: [ranks - 3], size: 0.3 };
  writeRun(simulateRun({ seed: 1, ranks, steps: 8, parallelism: 'fsdp', eventsPerStep: 60, fault }), folder);
}
const command = (ranks: number): [string, ...string[]] => [
  process.execPath,
  ...['bin/whyslow.js', 'diagnose', '--json', `.bench/simulated-${ranks}`],
];
const measured = await sideBySide(
  sizes.map((ranks) => ({ name: `${ranks} ranks`, command: command(ranks) })),
  ROUNDS,
);
console.log(`${machineLine()}\n8 steps per rank, FSDP, one rank late; ${ROUNDS} rounds\n`);
console.log('| | median s | best s | ms per rank | peak RSS MB | named |\n|---|---|---|---|---|---|');
measured.forEach((m, i) => {
  const [late] = (JSON.parse(m.output) as Report).stragglers;
  const perRank = (median(m.seconds) * 1e3) / sizes[i]!;
  const cells = [
    m.name,
    median(m.seconds).toFixed(2),
    best(m.seconds).toFixed(2),
    perRank.toFixed(1),
    m.peakMb.toFixed(0),
    late ? `rank ${late.ranks.join(', ')}` : 'nobody',
  ];
  console.log(`| ${cells.join(' | ')} |`);
});
