import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { analyseRank } from '../../src/analyses/rank-facts.js';
import { compareRanks } from '../../src/analyses/ranks/compare.js';
import { mean } from '../../src/base/statistics.js';
import { Trace } from '../../src/model/trace.js';
import { diagnose } from '../../src/report/diagnose.js';
import { inFolder } from '../helpers/cli.js';
import { toEventLogs } from '../helpers/simulate/event-logs.js';
import type { SimulateOptions } from '../helpers/simulate/options.js';
import { compareRun, type Outcome, scoreRun } from '../helpers/simulate/score.js';
import { simulateRun } from '../helpers/simulate/simulate.js';
import { readFile } from '../helpers/simulate/testing.js';

/** Two runs of a seed: one healthy, one with a fault. */
const SEEDS = 200;
const PARALLEL = ['ddp', 'fsdp', 'pipeline', 'mesh2d'] as const;
const KINDS = ['gpu', 'data', 'host', 'compile', 'gc'] as const;

function optionsOf(seed: number): SimulateOptions {
  const ranks = [4, 8, 8, 16][(seed >> 2) % 4]!;
  return {
    ...{ seed, ranks, ranksPerHost: ranks > 8 ? 8 : 4, steps: 8, eventsPerStep: 80 },
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
const share = (of: readonly Outcome[], pass: (o: Outcome) => boolean) => of.filter(pass).length / of.length;

describe(`${SEEDS} simulated runs`, () => {
  const seeds = Array.from({ length: SEEDS }, (_, seed) => seed);

  it('healthy: nobody is named', () => {
    const named = seeds.map((seed) => scoreRun(optionsOf(seed))).filter((o) => o.named);
    console.log(`healthy: ${named.length} of ${SEEDS} named somebody`);
    expect(named.length / SEEDS).toBeLessThanOrEqual(0.01);
  }, 240_000);

  it('with a late rank: who, why, and what it costs', () => {
    const all = seeds.map((seed) => scoreRun(withFault(seed)));
    const real = all.filter((o) => o.costMs >= 0.05 * o.stepMs);
    const found = real.filter((o) => o.rightRanks);
    const cost = share(found, (o) => Math.abs(o.saidCostMs / o.costMs - 1) <= 0.2);
    const figures = { recall: found.length / real.length, cause: share(found, (o) => o.rightCause), cost };
    console.log(`${real.length} faults of 5 % or more: ${JSON.stringify(figures)}`);
    expect(real.length).toBeGreaterThan(100);
    expect(figures.recall).toBeGreaterThanOrEqual(0.95);
    expect(figures.cause).toBeGreaterThanOrEqual(0.9);
    expect(figures.cost).toBeGreaterThanOrEqual(0.9);
  }, 240_000);
});

describe('simulated runs', () => {
  it.each(['spike', 'periodic'] as const)('a %s is told from a rank that is always late', (pattern) => {
    const outcomes = [1, 2, 3, 4, 5, 6].map((seed) =>
      scoreRun({
        seed,
        ranks: 8,
        steps: 12,
        parallelism: 'ddp',
        fault: { kind: 'host', ranks: [3], size: 0.5, pattern, period: 3 },
      }),
    );
    expect(outcomes.filter((o) => o.said.startsWith(`${pattern} 3 host`)).length).toBeGreaterThanOrEqual(5);
  });

  it('a rotating imbalance names nobody', () => {
    const outcomes = [1, 2, 3, 4, 5, 6].map((seed) =>
      scoreRun({
        seed,
        ranks: 8,
        steps: 12,
        parallelism: 'ddp',
        fault: { kind: 'rotating', ranks: [], size: 0.3 },
      }),
    );
    expect(outcomes.filter((o) => o.said.startsWith('rotating  ')).length).toBeGreaterThanOrEqual(5);
  });

  it('a slow link is the group’s, not a rank’s', () => {
    const outcomes = [1, 2, 3, 4].map((seed) =>
      scoreRun({ seed, ranks: 16, parallelism: 'mesh2d', fault: { kind: 'link', ranks: [1], size: 0.6 } }),
    );
    expect(outcomes.filter((o) => o.rightRanks).length).toBeGreaterThanOrEqual(3);
  });

  it('clock offsets come out within three times the stated error', () => {
    let inside = 0;
    let all = 0;
    for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
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

  it('eight copies of one trace, shifted in time, have nobody late', () => {
    const [file] = simulateRun({ seed: 3, ranks: 8, parallelism: 'ddp' }).files;
    const { trace } = readFile(file!);
    const copies = Array.from({ length: 8 }, (_, rank) => {
      const shifted = new Trace({ ...trace.data, baseNs: trace.data.baseNs + BigInt(rank * 37_000) });
      return {
        rank,
        host: null,
        coordinates: null,
        worldSize: 8,
        facts: analyseRank(shifted, { steps: null })!,
      };
    });
    expect(compareRanks(copies)!.late).toEqual([]);
  });

  it.each([
    ['data', 'data'],
    ['host', 'unknown'],
  ] as const)('events logs alone tell who is late: %s', async (kind, cause) => {
    await inFolder(async (folder) => {
      const options = { seed: 4, ranks: 8, steps: 12, parallelism: 'ddp' } as const;
      const run = simulateRun({ ...options, fault: { kind, ranks: [5], size: 0.3 } });
      for (const log of toEventLogs(run)) writeFileSync(join(folder, log.name), log.text);
      const { stragglers } = await diagnose([folder], { steps: null, ranks: null, jobs: 1 });
      expect(stragglers).toMatchObject([{ ranks: [5], pattern: 'persistent', cause }]);
      expect(Math.abs(stragglers[0]!.cost_ms / run.truth.costMs - 1)).toBeLessThan(0.3);
    });
  });

  it('some of the ranks still give an answer', () => {
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
});
