/**
 * The verdict of simulated runs whose traces show no call of a loader's pin thread, as most recordings do not: is the planted cause
 * named, and nobody who is not late? `node scripts/tool.mjs bench/forged-verdicts.ts [--seeds N]`. See bench/README.md.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { diagnose } from '../src/library/diagnose.js';
import type { Report } from '../src/report/report.js';
import { type TraceFile, withoutPins } from '../test/helpers/relations.js';
import type { Fault, FaultKind, SimulateOptions } from '../test/helpers/simulate/options.js';
import { type SimulatedRun, simulateRun } from '../test/helpers/simulate/simulate.js';
import { argument, machineLine } from './lib/side-by-side.js';

const SEEDS = argument('seeds', 3);
/** A fault that costs less may be named, or what the run without it suffers from: a wait is named from a quarter of the computing on. */
const DECIDES = 0.2;
const CAUSES: Readonly<Record<FaultKind, string>> = {
  gpu: 'gpu',
  clock: 'gpu',
  rotating: 'gpu',
  data: 'data',
  host: 'host',
  gc: 'host',
  compile: 'host',
  link: 'comms',
};
const PARALLEL = ['ddp', 'fsdp', 'mesh2d', 'pipeline', 'mesh3d'] as const;

interface Case {
  readonly name: string;
  readonly options: SimulateOptions;
}

function casesOf(seed: number): Case[] {
  const ranks = [8, 16, 8][seed % 3]!;
  const late = (seed * 5 + 3) % ranks;
  const faults: readonly (readonly [string, Fault | null])[] = [
    ['healthy', null],
    ...(['gpu', 'data', 'host', 'gc', 'compile', 'clock'] as const).map(
      (kind) => [kind, { kind, ranks: [late], size: 0.4 }] as const,
    ),
    ['small delay of input', { kind: 'data', ranks: [late], size: 0.08 }],
    ['input in one step', { kind: 'data', ranks: [late], size: 1.5, pattern: 'spike', at: 4 }],
    ['input in every third step', { kind: 'data', ranks: [late], size: 0.9, pattern: 'periodic', period: 3 }],
    ['input of all ranks', { kind: 'data', ranks: Array.from({ length: ranks }, (_, r) => r), size: 0.6 }],
    ['rotating', { kind: 'rotating', ranks: [], size: 0.5 }],
    ['link', { kind: 'link', ranks: [late], size: 0.8 }],
  ];
  return PARALLEL.flatMap((parallelism, i) =>
    faults
      .filter((_, j) => (i + j + seed) % 2 === 0 || parallelism === 'ddp')
      .map(([name, fault]) => ({
        name: `${parallelism} ${ranks}: ${name}`,
        options: {
          seed: seed * 100 + i,
          ranks,
          ranksPerHost: 8,
          steps: 8,
          eventsPerStep: 80,
          parallelism,
          startSkewMs: seed % 2 ? 300 : 0,
          clock: { offsetUsPerHost: 1500, driftPpm: 20 },
          fault,
        },
      })),
  );
}

const folder = mkdtempSync(join(tmpdir(), 'whyslow-forged-'));

async function diagnosed(run: SimulatedRun): Promise<Report> {
  const paths = run.files.map(({ name, json }) => {
    const path = join(folder, name);
    writeFileSync(path, JSON.stringify(withoutPins(JSON.parse(json) as TraceFile)));
    return path;
  });
  return diagnose(paths, { jobs: 1 });
}

const usualVerdicts = new Map<string, string>();
/** What the same run without its fault is named after. */
async function usual(options: SimulateOptions): Promise<string> {
  const key = JSON.stringify({ ...options, fault: null });
  const known = usualVerdicts.get(key);
  if (known !== undefined) return known;
  const { verdict } = await diagnosed(simulateRun({ ...options, fault: null }));
  usualVerdicts.set(key, verdict.bottleneck);
  return verdict.bottleneck;
}

/** What takes most of a healthy step of the slowest rank, as simulated: computing, or communication that nothing hides. */
function healthyTruth({ recordings }: SimulatedRun): string {
  const shares = recordings.map(({ spans, frontiers }) => {
    const [from, to] = [frontiers[0]!, frontiers.at(-1)!];
    const busy = spans
      .filter((s) => s.category === 'kernel' && !s.name.startsWith('nccl') && s.start >= from && s.end <= to)
      .reduce((sum, s) => sum + s.end - s.start, 0);
    return busy / (to - from);
  });
  return Math.max(...shares) >= 0.5 ? 'gpu' : 'comms';
}

console.log(`${machineLine()}\n`);
console.log('| run | truth | named | confidence | stragglers | right |\n|---|---|---|---|---|---|');
const count = { all: 0, right: 0, falseStragglers: 0 };
try {
  for (let seed = 1; seed <= SEEDS; seed++)
    for (const { name, options } of casesOf(seed)) {
      const run = simulateRun(options);
      const report = await diagnosed(run);
      const { fault = null } = options;
      const cost = run.truth.costMs / run.truth.stepMs;
      const accepted = new Set<string>();
      if (fault && cost >= 0.05) accepted.add(CAUSES[fault.kind]);
      if (!fault || cost < DECIDES) accepted.add(fault ? await usual(options) : healthyTruth(run));
      const { bottleneck, confidence } = report.verdict;
      const isRight = accepted.has(bottleneck);
      const late = new Set(
        run.truth.faults.flatMap(({ steps, group }) => [
          ...steps.flatMap((s) => s.late),
          // Members of a slow link's group are late together.
          ...run.truth.groups.flatMap((g) => (g.name === group ? g.ranks : [])),
        ]),
      );
      const strangers = report.stragglers.filter((s) => s.ranks.some((r) => !late.has(r)));
      count.all++;
      count.right += Number(isRight);
      count.falseStragglers += Number(strangers.length > 0);
      const named = report.stragglers.map((s) => s.ranks.join(' ')).join('; ');
      const cells = [
        name,
        `${[...accepted].join(' or ')} (${Math.round(100 * cost)}%)`,
        bottleneck,
        confidence.toFixed(2),
        named + (strangers.length > 0 ? ' **not late**' : ''),
        isRight ? 'yes' : '**no**',
      ];
      console.log(`| ${cells.join(' | ')} |`);
    }
} finally {
  rmSync(folder, { recursive: true });
}
console.log(
  `\nverdict right in ${count.right} of ${count.all}; somebody named who is not late in ${count.falseStragglers}`,
);
