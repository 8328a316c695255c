/**
 * Simulated runs in which some ranks have no trace: is the late rank named, at what predicted cost, and who is named when its own
 * trace is missing. See bench/README.md.
 */
import { compareRun } from '../test/helpers/simulate/score.js';
import { simulateRun } from '../test/helpers/simulate/simulate.js';
import { argument, machineLine } from './lib/side-by-side.js';

const SEEDS = argument('seeds', 4);
const RANKS = 16;
const COST_WITHIN = 0.25;

/** A linear congruential generator: the same ranks are missing in every run of this program. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) & 0x7fffffff;
    return state / 0x7fffffff;
  };
}

const ranks = Array.from({ length: RANKS }, (_, rank) => rank);
const cases = (['gpu', 'host', 'data'] as const).flatMap((kind) =>
  Array.from({ length: SEEDS }, (_, i) => ({ kind, seed: i + 1 })),
);

console.log(
  `${machineLine()}\n${RANKS} ranks, 4 a host, 6 steps, one late by 0.4 steps; ${cases.length} runs a row\n`,
);
console.log('| ranks | without a trace | late rank named | cost within 25% | others named | links named |');
console.log('|---|---|---|---|---|---|');
for (const parallelism of ['ddp', 'mesh2d', 'mesh3d', 'pipeline'] as const)
  for (const share of [0.15, 0.5])
    for (const isLateMissing of [false, true]) {
      const found = { named: 0, costs: 0, others: 0, links: 0 };
      for (const { kind, seed } of cases) {
        const random = randomFrom(seed * 77 + kind.length);
        const late = Math.floor(random() * RANKS);
        const missingRanks = ranks.filter((r) => (r === late ? isLateMissing : random() < share));
        const run = simulateRun({
          seed,
          ranks: RANKS,
          ranksPerHost: 4,
          steps: 6,
          eventsPerStep: 40,
          parallelism,
          fault: { kind, ranks: [late], size: 0.4 },
          missingRanks,
        });
        const comparison = compareRun(run);
        const named = comparison?.late.find((l) => l.ranks.join() === String(late));
        found.named += Number(named !== undefined);
        found.costs += Number(!!named && Math.abs(named.cost / 1e6 / run.truth.costMs - 1) <= COST_WITHIN);
        found.others += Number(comparison?.late.some((l) => l !== named));
        found.links += Number((comparison?.slowGroups.length ?? 0) > 0);
      }
      const who = `${Math.round(100 * share)}% of the others${isLateMissing ? ', and the late one' : ''}`;
      const right = isLateMissing ? ['', ''] : [found.named, found.costs];
      console.log(`| ${[parallelism, who, ...right, found.others, found.links].join(' | ')} |`);
    }
