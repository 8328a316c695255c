/** Thousands of simulated ranks from facts: time, memory, recall and false alarms. See bench/README.md. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Report } from '../src/report/report.js';
import { argument, machineLine, median, sideBySide } from './lib/side-by-side.js';
import { simulatedFacts } from './lib/simulated-facts.js';
import type { Scenario } from './lib/simulated-options.js';

const MOST = argument('ranks', 4096);
const ROUNDS = argument('rounds', 1);
/** `--only data`: this scenario, at the largest size. Making the traces of all takes half an hour. */
const only = process.argv.includes('--only') ? process.argv[process.argv.indexOf('--only') + 1] : null;
const sizes = only ? [MOST] : [MOST / 4, MOST];

/** Who is late, and what is missing, by the number of ranks. */
const scenariosOf = (ranks: number): readonly Scenario[] => [
  { name: 'healthy', fault: null },
  { name: 'data', fault: { kind: 'data', ranks: [ranks - 3], size: 0.3 } },
  { name: 'gpu', fault: { kind: 'gpu', ranks: [ranks / 2 + 5], size: 0.4 } },
  { name: 'host', fault: { kind: 'host', ranks: [17], size: 0.2 }, missingRanks: [0, 1, 2, 3, ranks - 1] },
  { name: 'two', fault: { kind: 'gc', ranks: [9, ranks / 4 + 9], size: 0.3 } },
  { name: 'link', fault: { kind: 'link', ranks: [ranks / 4 + 1], size: 0.6 } },
];

console.log(
  `${machineLine()}\ndp × 8 tp × 4 pp, 6 steps, 8 ranks a host, clocks 2 ms off and drifting; ${ROUNDS} rounds\n`,
);
console.log(
  '| ranks | planted | named | cost predicted / true ms | s | ms per rank | peak RSS MB | report kB | facts kB per rank |',
);
console.log('|---|---|---|---|---|---|---|---|---|');
for (const ranks of sizes)
  for (const scenario of scenariosOf(ranks).filter((s) => !only || s.name === only)) {
    const folder = await simulatedFacts(ranks, 1, scenario);
    const command: [string, ...string[]] = [process.execPath, 'bin/whyslow.js', 'diagnose', '--json', folder];
    const [measured] = await sideBySide([{ name: scenario.name, command }], ROUNDS);
    const report = JSON.parse(measured!.output) as Report;
    const truth = JSON.parse(readFileSync(join(folder, 'truth.json'), 'utf8')) as { costMs: number };
    const [late] = report.stragglers;
    const slow = report.findings.find((f) => f.id.includes('link') || f.id.includes('group'));
    const said = late ? `rank ${late.ranks.join(', ')}: ${late.cause}` : (slow?.id ?? 'nobody');
    const { fault } = scenario;
    const seconds = median(measured!.seconds);
    const one = statSync(report.inputs[0]!.path).size;
    const cells = [
      ranks,
      fault ? `${fault.kind} on ${fault.ranks.join(', ')}` : 'nothing',
      said,
      `${(late?.cost_ms ?? 0).toFixed(1)} / ${truth.costMs.toFixed(1)}`,
      seconds.toFixed(1),
      ((seconds * 1e3) / ranks).toFixed(1),
      measured!.peakMb.toFixed(0),
      (measured!.output.length / 1e3).toFixed(0),
      (one / 1e3).toFixed(1),
    ];
    console.log(`| ${cells.join(' | ')} |`);
  }
