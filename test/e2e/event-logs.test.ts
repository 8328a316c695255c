import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type DiagnoseOptions, diagnose } from '../../src/library/diagnose.js';
import type { Report } from '../../src/report/report.js';
import { inFolder } from '../helpers/cli.js';
import { type LogOptions, toEventLogs } from '../helpers/simulate/event-logs.js';
import type { SimulateOptions } from '../helpers/simulate/options.js';
import { Random } from '../helpers/simulate/random.js';
import { simulateRun } from '../helpers/simulate/simulate.js';

/** Verdicts from event logs alone, in the layout that whyslow_capture writes. */

function reportOf(
  logs: readonly { readonly name: string; readonly text: string }[],
  steps: DiagnoseOptions['steps'] = null,
): Promise<Report> {
  return inFolder(async (folder) => {
    for (const log of logs) writeFileSync(join(folder, log.name), log.text);
    return diagnose([folder], { steps, ranks: null, jobs: 1 });
  });
}

const simulated = async (options: SimulateOptions, layout: LogOptions = {}) => {
  const run = simulateRun({ ranks: 8, steps: 24, eventsPerStep: 80, ...options });
  return { truth: run.truth, report: await reportOf(toEventLogs(run, layout)) };
};

it('only the steps asked for are analyzed', async () => {
  // Rank 5 is late from step 12 on.
  const [healthy, late] = [null, { kind: 'host', ranks: [5], size: 0.6 } as const].map((fault) =>
    toEventLogs(simulateRun({ ranks: 8, steps: 24, eventsPerStep: 80, seed: 4, fault })),
  );
  const logs = healthy!.map(({ name, text }, rank) => {
    const linesOf = (log: string, wanted: (step: number) => boolean) =>
      log.split('\n').filter((line) => line && wanted((JSON.parse(line) as { step?: number }).step ?? -1));
    const lines = [...linesOf(text, (s) => s < 12), ...linesOf(late![rank]!.text, (s) => s >= 12)];
    return { name, text: `${lines.join('\n')}\n` };
  });
  const [before, after] = [
    await reportOf(logs, { first: null, last: 11 }),
    await reportOf(logs, { first: 12, last: 20 }),
  ];
  expect(before.step).toMatchObject({ first: 0 });
  expect(before.stragglers).toEqual([]);
  expect(after.step).toMatchObject({ first: 12, last: 19 });
  expect(after.stragglers).toMatchObject([{ ranks: [5], pattern: 'persistent' }]);
  await expect(reportOf(logs, { first: 100, last: 200 })).rejects.toThrow('none of the selected steps');
});

describe('GPU jobs', () => {
  const layouts: Readonly<Record<string, LogOptions>> = {
    'every step': {},
    'every second or fourth step': { every: (rank) => (rank % 2 ? 4 : 2) },
    'without collectives': { withoutCollectives: true },
  };
  it.each(Object.keys(layouts))('a late rank is found with its cost: %s', async (name) => {
    const kinds = [
      ['data', 'data', 'data'],
      ['host', 'host', 'host'],
      ['gpu', 'gpu', 'gpu'],
    ] as const;
    for (const [kind, cause, bottleneck] of kinds) {
      const fault = { kind, ranks: [5], size: 0.6 };
      const { truth, report } = await simulated({ seed: 4, fault }, layouts[name]);
      expect(report.stragglers).toMatchObject([{ ranks: [5], pattern: 'persistent', cause }]);
      const said = report.stragglers[0]!.cost_ms / truth.costMs;
      // Slow computing inside the phase with the collective cannot be separated from the collective.
      const least = kind === 'gpu' && name === 'without collectives' ? 0.3 : 0.8;
      expect(said).toBeGreaterThan(least);
      expect(said).toBeLessThan(1.2);
      expect(report.verdict.bottleneck).toBe(bottleneck);
    }
  });

  describe('work done every ten steps, when one step in ten is recorded', () => {
    // Steps 9, 19, … take much longer, as if rank 5 wrote a checkpoint.
    const fault = { kind: 'host', ranks: [5], size: 4, pattern: 'periodic', period: 10 } as const;
    const recorded = (from: number) => simulated({ seed: 4, steps: 100, fault }, { every: () => 10, from });
    const pace = (stepsMs: readonly number[]) => stepsMs.reduce((a, b) => a + b, 0) / stepsMs.length;

    it('counts once in ten steps when every recorded step has it', async () => {
      const { truth, report } = await recorded(9);
      expect(report.health.problems[0]).toMatchObject({ code: 'recorded-slower', severity: 'warning' });
      expect(report.step.ms! / pace(truth.stepsMs)).toBeCloseTo(1, 1);
      expect((1e3 * report.what_if!.actual_s) / report.step.ms!).toBeCloseTo(1, 1);
      expect(report.ranks[5]!.step_ms).toBeCloseTo(report.step.ms!, 0);
      expect(report.stragglers).toMatchObject([{ ranks: [5], pattern: 'periodic', cause: 'host' }]);
      expect(report.stragglers[0]!.cost_ms / truth.costMs).toBeGreaterThan(0.7);
      expect(report.stragglers[0]!.cost_ms / truth.costMs).toBeLessThan(1.3);
    });

    it('work done every ten steps is still seen in the pace, without a name, when no recorded step has it', async () => {
      const { truth, report } = await recorded(5);
      expect(report.health.problems[0]).toMatchObject({ code: 'others-slower', severity: 'warning' });
      expect(report.health.problems[0]!.consequence).toMatch(/spread_steps=true/);
      expect(report.step.ms! / pace(truth.stepsMs)).toBeCloseTo(1, 1);
      expect((1e3 * report.what_if!.actual_s) / report.step.ms!).toBeCloseTo(1, 1);
      expect(report.stragglers).toEqual([]);
    });
  });

  it.each(['ddp', 'fsdp', 'mesh2d', 'pipeline'] as const)(
    'nobody is late in a healthy run: %s',
    async (parallelism) => {
      for (const layout of Object.values(layouts)) {
        const { report } = await simulated({ seed: 7, parallelism }, layout);
        expect(report.stragglers).toEqual([]);
      }
    },
  );

  it('a rank that starts slowly is not late', async () => {
    const spike = (at: number) => ({ kind: 'host', ranks: [5], size: 1.5, pattern: 'spike', at }) as const;
    const { report: later } = await simulated({ seed: 4, fault: spike(12) });
    expect(later.stragglers).toMatchObject([{ ranks: [5], pattern: 'spike' }]);
    const { report: first } = await simulated({ seed: 4, fault: spike(0) });
    expect(first.stragglers).toEqual([]);
  });

  it.each([
    ['gpu', { stepMs: 20, eventsPerStep: 150 }],
    ['gpu', { stepMs: 20, eventsPerStep: 150, syncEvery: 0 }],
    ['host', { stepMs: 3, eventsPerStep: 2400 }],
    ['host', { stepMs: 3, eventsPerStep: 2400, syncEvery: 0 }],
    ['data', { stepMs: 20, eventsPerStep: 150, fault: { kind: 'data', ranks: [0, 1], size: 1.5 } }],
  ] as const)('%s-bound: %j', async (bottleneck, options) => {
    const every = () => 4;
    const { report } = await simulated({ seed: 1, ranks: 2, steps: 40, layers: 2, ...options }, { every });
    expect(report.verdict.bottleneck).toBe(bottleneck);
    if (bottleneck === 'host') expect(report.verdict.sentence).toMatch(/nothing queued/);
  });

  it('files of lmms-engine without waits name nobody', async () => {
    const fault = { kind: 'host', ranks: [5], size: 0.4 } as const;
    const { report } = await simulated({ seed: 4, fault }, { layout: 'bare' });
    expect(report.stragglers).toEqual([]);
  });
});

/** Four ranks without GPU under DDP, ms: what each does before an all_reduce that all end together. */
function cpuLogs(seed: number, more: { data?: number; sleep?: (rank: number) => number }) {
  const random = new Random(seed, 0);
  const about = (ms: number) => ms * random.lognormal(0.08);
  const ranks = [0, 1, 2, 3].map((rank) => ({ rank, lines: [] as object[], now: 5 * rank }));
  for (const { lines, rank } of ranks) lines.push({ whyslow: 1, run: 'cpu', rank });
  for (let step = 0; step < 300; step++) {
    const plans = ranks.map(({ rank, now }) => {
      const [data, sleep] = [about(more.data ?? 0.5), more.sleep?.(rank) ?? 0];
      const [forward, backward, optimizer] = [about(12), about(24), about(3)];
      return {
        begin: now,
        data,
        sleep,
        forward,
        optimizer,
        before: data + sleep + forward + backward,
      };
    });
    const arrived = plans.map((p) => p.begin - 5 * plans.indexOf(p) + p.before);
    const end = Math.max(...arrived) + about(3);
    for (const [r, { begin, data, sleep, forward, optimizer, before }] of plans.entries()) {
      const own = ranks[r]!;
      // Clocks are 5 ms apart from rank to rank.
      const reduced = end + 5 * r;
      own.now = reduced + optimizer + about(0.2);
      if (step % (r === 3 ? 20 : 10) !== 0) continue;
      const add = (name: string, start: number, to: number) =>
        own.lines.push({
          name,
          step,
          rank: r,
          duration_ms: to - start,
          start_ms: start,
          micro: 0,
          clock: 'host',
          run: 'cpu',
        });
      const awake = begin + data + sleep;
      add('data_wait', begin, begin + data);
      add('forward', awake, awake + forward);
      add('collective:all_reduce', begin + before, reduced);
      add('backward', awake + forward, reduced);
      add('optimizer', reduced, reduced + optimizer);
      add('training_step', begin, own.now);
    }
  }
  return ranks.map(({ rank, lines }) => ({
    name: `cuda_events_rank_${rank}.jsonl`,
    text: `${lines.map((l) => JSON.stringify(l)).join('\n')}\n`,
  }));
}

describe('jobs without GPU: four ranks, every tenth step', () => {
  it('a healthy run is compute-bound', async () => {
    for (const seed of [1, 2, 3]) {
      const { verdict, stragglers } = await reportOf(cpuLogs(seed, {}));
      expect([verdict.bottleneck, stragglers]).toEqual(['compute', []]);
    }
  });

  it.each([20, 50])('a job without a GPU whose rank 2 sleeps %i ms per step is host-bound', async (ms) => {
    const { verdict, stragglers } = await reportOf(cpuLogs(ms, { sleep: (r) => (r === 2 ? ms : 0) }));
    expect(verdict.bottleneck).toBe('host');
    expect(stragglers).toMatchObject([{ ranks: [2], pattern: 'persistent', cause: 'host' }]);
    expect(Math.abs(stragglers[0]!.cost_ms / ms - 1)).toBeLessThan(0.2);
    expect(verdict.sentence).toMatch(/Rank 2 is late in every step/);
  });

  it('a job without a GPU and with a slow loader on all ranks is data-bound', async () => {
    const { verdict, stragglers } = await reportOf(cpuLogs(5, { data: 60 }));
    expect([verdict.bottleneck, stragglers]).toEqual(['data', []]);
  });
});

it('logs of lmms-engine: the phase in which one of eight ranks is late is named', async () => {
  // As its pull request validates it: a phase that only rank 5 has, and an all_reduce in which the others wait.
  const random = new Random(7, 0);
  const logs = Array.from({ length: 8 }, (_, rank) => {
    const lines = Array.from({ length: 40 }, (_, i) => {
      const record = (name: string, ms: number) =>
        `${JSON.stringify({ name, step: 10 * (i + 1), rank, duration_ms: ms * (0.98 + 0.04 * random.next()) })}\n`;
      const late = rank === 5 ? [record('synthetic_straggler', 4), record('all_reduce', 0.2)] : [];
      const waits = rank === 5 ? [] : [record('all_reduce', 4.2)];
      return [record('host_to_device', 0.1), ...late, ...waits, record('training_step', 7.3)].join('');
    });
    return { name: `cuda_events_rank_${rank}.jsonl`, text: lines.join('') };
  });
  const report = await reportOf(logs);
  expect(report.stragglers).toMatchObject([{ ranks: [5], pattern: 'persistent' }]);
  expect(report.stragglers[0]!.sentence).toMatch(
    /the phase synthetic_straggler \((?:3\.9|4\.0)\d ms per step, no other rank/,
  );
  expect(report.findings[0]).toMatchObject({ rule: 'W1', ranks: [5] });
  // Nothing can be hidden behind: the others only wait.
  expect(report.findings.map((f) => f.id)).not.toContain('exposed-collectives');
});
