/**
 * Who is named among a thousand simulated ranks or more, with faults of every kind: recall, false alarms, cost, time of the
 * comparison. From traces in memory: no files are written. See bench/README.md.
 */
import { namedRanks } from '../src/base/rank-ranges.js';
import { compareRanks } from '../src/run/compare.js';
import type { ComparedRank } from '../src/run/table/build-table.js';
import { analyzeTrace } from '../src/traces/analyze-trace.js';
import type { Fault } from '../test/helpers/simulate/options.js';
import { type SimulatedRun, simulateRun } from '../test/helpers/simulate/simulate.js';
import { readFile } from '../test/helpers/simulate/testing.js';
import { argument, machineLine } from './lib/side-by-side.js';
import { optionsOf, type Scenario } from './lib/simulated-options.js';

const RANKS = argument('ranks', 1024);
const SEEDS = argument('seeds', 2);
/** `--only 'a slow'`: scenarios with this in their name. A thousand ranks take a minute of processor time each. */
const only = process.argv.includes('--only') ? process.argv[process.argv.indexOf('--only') + 1]! : '';

interface Planted extends Scenario {
  /** Who should be named: the late ranks by default. */
  readonly expected: readonly number[];
  readonly pattern: string;
  readonly cause: string;
}

const from = (first: number, count: number) => Array.from({ length: count }, (_, i) => first + i);
const late = (name: string, fault: Fault, more: Partial<Planted> = {}): Planted => ({
  name,
  fault,
  expected: fault.ranks,
  pattern: 'persistent',
  cause: CAUSES[fault.kind] ?? fault.kind,
  ...more,
});
const CAUSES: Readonly<Record<string, string>> = { clock: 'gpu', gc: 'host', rotating: 'gpu' };
const HEALTHY = { fault: null, expected: [], pattern: '', cause: '' };

/** Ranks move with the seed. A host has 8 ranks, a stage a quarter of all. */
function scenariosOf(ranks: number, seed: number): readonly Planted[] {
  const someone = (part: number) => Math.floor(ranks * part + 37 * seed) % ranks;
  // In one stage: of two late stages, a pipeline waits for one.
  const first = someone(0.2) & ~31;
  const host = Math.floor(someone(0.6) / 8) * 8;
  // Neighbors of the late rank are among them.
  const missingRanks = [0, 1, 2, 3, someone(0.3) ^ 1, ranks - 1];
  return [
    { name: 'healthy', ...HEALTHY },
    { name: 'healthy, 6 ranks missing', ...HEALTHY, missingRanks },
    late('input', { kind: 'data', ranks: [someone(0.9)], size: 0.3 }),
    late('GPU, 6 ranks missing', { kind: 'gpu', ranks: [someone(0.3)], size: 0.4 }, { missingRanks }),
    late('host', { kind: 'host', ranks: [someone(0.1)], size: 0.2 }),
    late('compiling', { kind: 'compile', ranks: [someone(0.7)], size: 0.3 }),
    late('pauses on two ranks', {
      kind: 'gc',
      ranks: [first + 3, first + 19],
      size: 0.3,
    }),
    late(
      'one pause',
      { kind: 'gc', ranks: [someone(0.8)], size: 1.2, pattern: 'spike' },
      { pattern: 'spike' },
    ),
    late('a slow host', { kind: 'clock', ranks: from(host, 8), size: 0.3 }, { pattern: 'host' }),
    late('a slow stage', { kind: 'gpu', ranks: from(ranks / 4, ranks / 4), size: 0.3 }, { pattern: 'stage' }),
    late('uneven work', { kind: 'rotating', ranks: [], size: 0.5 }, { pattern: 'rotating' }),
    late('a slow link', { kind: 'link', ranks: [someone(0.4)], size: 0.6 }, { expected: [] }),
  ];
}

/** Facts of every rank as `whyslow facts` keeps them; the traces are let go one by one. */
function factsOf(run: SimulatedRun): ComparedRank[] {
  return run.files.map((file) => {
    const { trace } = readFile(file);
    const facts = analyzeTrace(trace, { steps: null, light: true })!;
    return {
      rank: file.rank,
      host: trace.data.header.hostName,
      coordinates: null,
      facts: structuredClone(facts),
    };
  });
}

const cpuSeconds = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};
const sameRanks = (a: readonly number[], b: readonly number[]) => a.join() === b.join();

console.log(
  `${machineLine()}\n${RANKS} ranks: dp × 8 tp × 4 pp, 6 steps, 8 ranks a host, clocks 2 ms off and drifting; ${SEEDS} seeds\n`,
);
console.log(
  '| seed | planted | named | right | cost predicted / true ms | compared in CPU s |\n|---|---|---|---|---|---|',
);
const count = {
  faults: 0,
  links: 0,
  ranks: 0,
  causes: 0,
  patterns: 0,
  costs: 0,
  healthy: 0,
  falseAlarms: 0,
  others: 0,
};
for (let seed = 1; seed <= SEEDS; seed++)
  for (const planted of scenariosOf(RANKS, seed).filter(({ name }) => name.includes(only))) {
    const run = simulateRun(optionsOf(RANKS, seed, planted));
    const ranks = factsOf(run);
    const began = cpuSeconds();
    const comparison = compareRanks(ranks)!;
    const seconds = cpuSeconds() - began;
    const links = comparison.slowGroups.map(({ group }) => comparison.matched.groups[group]!);
    const isLink = planted.fault?.kind === 'link';
    const worst = comparison.late.find((l) => l.cause !== 'link');
    const linked = links.find((g) =>
      g.captured.some((i) => comparison.matched.ranks[i] === planted.fault?.ranks[0]),
    );
    const rightRanks = isLink ? linked !== undefined : !!worst && sameRanks(worst.ranks, planted.expected);
    const rightCause = isLink || worst?.cause === planted.cause;
    const said = (worst?.cost ?? 0) / 1e6;
    const trueCost = run.truth.costMs;
    const isRight = planted.fault
      ? rightRanks && rightCause
      : comparison.late.length === 0 && links.length === 0;
    if (planted.fault) {
      count.faults++;
      count.links += Number(isLink);
      count.ranks += Number(rightRanks);
      count.causes += Number(rightRanks && rightCause);
      count.patterns += Number(rightRanks && (isLink || worst?.pattern === planted.pattern));
      count.costs += Number(!isLink && rightRanks && Math.abs(said / trueCost - 1) <= 0.2);
      count.others += comparison.late.filter(
        (l) => !l.ranks.every((r) => planted.fault!.ranks.includes(r)),
      ).length;
    } else {
      count.healthy++;
      count.falseAlarms += Number(!isRight);
    }
    const named = comparison.late.map(
      (l) => `${l.ranks.length > 0 ? namedRanks(l.ranks) : 'each in turn'}, ${l.pattern}, ${l.cause}`,
    );
    const cells = [
      seed,
      planted.name +
        (planted.fault && planted.fault.ranks.length === 1 ? ` (${planted.fault.ranks[0]})` : ''),
      [...named, ...links.slice(0, 2).map((g) => `link of ${g.name}`)].join('; ') || 'nobody',
      isRight ? 'yes' : '**no**',
      isLink || !planted.fault ? '' : `${said.toFixed(2)} / ${trueCost.toFixed(2)}`,
      seconds.toFixed(1),
    ];
    console.log(`| ${cells.join(' | ')} |`);
  }
console.log(
  `\nOf ${count.faults} faults: ranks ${count.ranks}, cause too ${count.causes}, pattern too ${count.patterns}; cost within 20% in ` +
    `${count.costs} of ${count.faults - count.links}. Others named too: ${count.others}. ` +
    `Of ${count.healthy} healthy runs: ${count.falseAlarms} with somebody named.`,
);
console.log(
  `Peak of this process, with the simulation: ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MB.`,
);
