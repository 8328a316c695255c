import { describe, expect, it } from 'vitest';
import { mean } from '../../src/base/statistics.js';
import { Trace } from '../../src/model/trace.js';
import { compareRanks } from '../../src/run/compare.js';
import { analyzeTrace } from '../../src/traces/analyze-trace.js';
import { cases, countCases, SOAK } from '../helpers/cases.js';
import type { SimulateOptions } from '../helpers/simulate/options.js';
import { compareRun, type Outcome, scoreRun } from '../helpers/simulate/score.js';
import { simulateRun } from '../helpers/simulate/simulate.js';
import { readFile } from '../helpers/simulate/testing.js';

/** Twenty have every kind of fault with every way to be parallel. */
const SEEDS = cases(20, 48);
/** Eight have every way to be parallel, with two sizes. */
const HEALTHY = cases(8, 48);
const PARALLEL = ['ddp', 'fsdp', 'pipeline', 'mesh2d'] as const;
const KINDS = ['gpu', 'data', 'host', 'compile', 'gc'] as const;

function optionsOf(seed: number): SimulateOptions {
  const ranks = [4, 8, 8, 16][(seed >> 2) % 4]!;
  return {
    seed,
    ranks,
    ranksPerHost: ranks > 8 ? 8 : 4,
    steps: 8,
    eventsPerStep: 80,
    parallelism: PARALLEL[seed % 4]!,
    startSkewMs: seed % 3 === 0 ? 300 : 0,
    clock: { offsetUsPerHost: 1500, driftPpm: 10 },
    withoutSeq: seed % 7 === 0,
  };
}

const withFault = (seed: number): SimulateOptions => {
  const options = optionsOf(seed);
  return {
    ...options,
    fault: { kind: KINDS[seed % 5]!, ranks: [(seed * 7) % options.ranks!], size: [0.1, 0.2, 0.4][seed % 3]! },
  };
};
/** At least five of six. */
const MOST = 0.8;
const seedsUpTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);
const share = (of: readonly Outcome[], pass: (o: Outcome) => boolean) => of.filter(pass).length / of.length;

describe(`${SEEDS} simulated runs`, () => {
  const seeds = Array.from({ length: SEEDS }, (_, seed) => seed);
  countCases(SEEDS + HEALTHY);

  it(`simulated runs have no late rank without their fault (the first ${HEALTHY})`, () => {
    const runs = seeds.slice(0, HEALTHY).map((seed) => scoreRun(optionsOf(seed)));
    const named = runs.filter((o) => o.named);
    console.log(`healthy: a late rank in ${named.length} of ${HEALTHY} runs`);
    expect(named.length / HEALTHY).toBeLessThanOrEqual(0.01);
  }, 7_200_000);

  it('simulated runs with a fault have the right late rank, cause and cost', () => {
    const all = seeds.map((seed) => scoreRun(withFault(seed)));
    const real = all.filter((o) => o.costMs >= 0.05 * o.stepMs);
    const found = real.filter((o) => o.rightRanks);
    const cost = share(found, (o) => Math.abs(o.saidCostMs / o.costMs - 1) <= 0.2);
    const figures = { recall: found.length / real.length, cause: share(found, (o) => o.rightCause), cost };
    console.log(`${real.length} faults of 5% or more: ${JSON.stringify(figures)}`);
    expect(real.length).toBeGreaterThan(SEEDS / 2);
    expect(figures.recall).toBeGreaterThanOrEqual(0.95);
    expect(figures.cause).toBeGreaterThanOrEqual(0.9);
    expect(figures.cost).toBeGreaterThanOrEqual(0.95);
  }, 7_200_000);
});

/** Delays spread: members of the late rank's group are late in their other groups, and stages delay the next stage. */
describe('the critical path of simulated runs', () => {
  const runs = Array.from({ length: cases(4, 12) }, (_, seed) => {
    const ranks = [8, 16][seed % 2]!;
    const parallelism = (['mesh2d', 'pipeline'] as const)[(seed >> 1) % 2]!;
    const late = (seed * 5 + 3) % ranks;
    const fault = { kind: KINDS[seed % 5]!, ranks: [late], size: 0.3 };
    return { seed, late, options: { ...optionsOf(seed), ranks, parallelism, fault } as SimulateOptions };
  });
  const compared = runs.map(({ late, options }) => {
    const run = simulateRun(options);
    return { late, options, truth: run.truth, comparison: compareRun(run)! };
  });

  it('belongs to the rank where a chain of delays begins', () => {
    const owned = compared.filter(({ late, comparison }) => comparison.path!.ranks[0]!.rank === late);
    console.log(`critical path owned by the late rank: ${owned.length} of ${compared.length}`);
    expect(owned.length / compared.length).toBeGreaterThanOrEqual(0.95);
  });

  it('the critical path of simulated runs is as long as the steps', () => {
    for (const { comparison } of compared) {
      const length = Object.values(comparison.path!.time).reduce((a, b) => a + b, 0);
      expect(Math.abs(length / comparison.table!.recorded - 1)).toBeLessThan(0.01);
    }
  });

  it('agrees with a replay, which reproduces the steps and the cost of the delay', () => {
    for (const { comparison, truth } of compared) {
      const { unchanged, measured } = comparison.played!;
      expect(Math.abs(unchanged / measured - 1)).toBeLessThan(0.01);
      if (truth.costMs < 0.05 * truth.stepMs) continue;
      expect(Math.abs(comparison.late[0]!.cost / 1e6 / truth.costMs - 1)).toBeLessThan(0.2);
    }
  });
});

describe('simulated runs', () => {
  it.each(['spike', 'periodic'] as const)(
    'a %s is distinguished from a rank that is always late',
    (pattern) => {
      const outcomes = seedsUpTo(cases(3, 6)).map((seed) =>
        scoreRun({
          seed,
          ranks: 8,
          steps: 12,
          parallelism: 'ddp',
          fault: { kind: 'host', ranks: [3], size: 0.5, pattern, period: 3 },
        }),
      );
      expect(share(outcomes, (o) => o.said.startsWith(`${pattern} 3 host`))).toBeGreaterThan(MOST);
    },
  );

  it('simulated runs with a rotating imbalance have no late rank', () => {
    const outcomes = seedsUpTo(cases(3, 6)).map((seed) =>
      scoreRun({
        seed,
        ranks: 8,
        steps: 12,
        parallelism: 'ddp',
        fault: { kind: 'rotating', ranks: [], size: 0.3 },
      }),
    );
    expect(share(outcomes, (o) => o.said.startsWith('rotating  '))).toBeGreaterThan(MOST);
  });

  it('simulated runs with a slow link have a slow group, not a late rank', () => {
    const outcomes = seedsUpTo(cases(2, 4)).map((seed) =>
      scoreRun({ seed, ranks: 16, parallelism: 'mesh2d', fault: { kind: 'link', ranks: [1], size: 0.6 } }),
    );
    expect(share(outcomes, (o) => o.rightRanks)).toBeGreaterThanOrEqual(0.75);
  });

  it('simulated runs have clock offsets within three times the stated error', () => {
    let inside = 0;
    let all = 0;
    for (const seed of seedsUpTo(cases(2, 8))) {
      const run = simulateRun({ ...optionsOf(seed), ranks: 16, ranksPerHost: 4 });
      const { clocks } = compareRun(run)!;
      const base = run.truth.offsetsUs[clocks.ranks[0]!.reference]!;
      for (const c of clocks.ranks.filter((r) => r.component === 0 && r.rank !== r.reference)) {
        all++;
        const expected = run.truth.offsetsUs[c.rank]! - base;
        if (Math.abs(c.offset / 1e3 - expected) <= 3 * Math.max(c.error / 1e3, 0.1)) inside++;
      }
    }
    console.log(`clock offsets within 3 × the error: ${inside} of ${all}`);
    expect(inside / all).toBeGreaterThanOrEqual(0.95);
  });

  it('made of eight copies of one trace, shifted in time, have no late rank', () => {
    const [file] = simulateRun({ seed: 3, ranks: 8, parallelism: 'ddp' }).files;
    const { trace } = readFile(file!);
    const copies = Array.from({ length: 8 }, (_, rank) => {
      const shifted = new Trace({ ...trace.data, baseNs: trace.data.baseNs + BigInt(rank * 37_000) });
      return {
        rank,
        host: null,
        coordinates: null,
        worldSize: 8,
        facts: analyzeTrace(shifted, { steps: null })!,
      };
    });
    expect(compareRanks(copies)!.late).toEqual([]);
  });

  it('simulated runs with missing ranks still give an answer', () => {
    const run = simulateRun({
      seed: 5,
      ranks: 16,
      parallelism: 'fsdp',
      missingRanks: [0, 3, 9, 12],
      fault: { kind: 'data', ranks: [6], size: 0.3 },
    });
    const compared = compareRun(run)!;
    expect(compared.late).toMatchObject([{ ranks: [6], cause: 'data' }]);
    expect(mean(compared.matched.groups.map((g) => g.captured.length))).toBe(12);
  });

  // Its neighbors on other stages wait for the missing rank, which waits for the late one.
  it.each(SOAK ? [20, 22] : [20])(
    'simulated runs without rank %i, a neighbor of the late one, still name it and its cost',
    (missing) => {
      const run = simulateRun({
        seed: 1,
        ranks: 32,
        parallelism: 'mesh3d',
        stages: 4,
        tensorParallel: 4,
        steps: 5,
        eventsPerStep: 60,
        missingRanks: [missing],
        fault: { kind: 'data', ranks: [21], size: 0.3 },
      });
      const { late } = compareRun(run)!;
      expect(late).toMatchObject([{ ranks: [21], cause: 'data' }]);
      expect(Math.abs(late[0]!.cost / 1e6 / run.truth.costMs - 1)).toBeLessThan(0.2);
    },
  );
});
