import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { diagnose } from '../../src/library/diagnose.js';
import type { Report } from '../../src/report/report.js';
import { inFolder } from '../helpers/cli.js';
import { writeCapture } from '../helpers/simulate/capture-files.js';
import type { SimulateOptions } from '../helpers/simulate/options.js';
import { simulateRun } from '../helpers/simulate/simulate.js';

/** The event logs of a run, and a window of a few steps on some ranks. `window`: what is different in it. */
function told(options: SimulateOptions, traced: readonly number[], window: Partial<SimulateOptions> = {}) {
  return inFolder(async (folder): Promise<Report> => {
    writeCapture(simulateRun(options), folder, { logs: true });
    mkdirSync(join(folder, 'traces'));
    const files = traced.length > 0 ? simulateRun({ ...options, steps: 4, ...window }).files : [];
    for (const { rank, name, json } of files)
      if (traced.includes(rank)) writeFileSync(join(folder, 'traces', name), json);
    const report = await diagnose([folder], { steps: null, ranks: null, jobs: 1 });
    expect(report.inputs.filter((i) => i.kind === 'kineto')).toHaveLength(traced.length);
    return report;
  });
}

const late = ({ stragglers }: Report) => stragglers.map(({ ranks, pattern }) => ({ ranks, pattern }));
const answer = (report: Report) => ({
  late: late(report),
  causes: report.stragglers.map((s) => s.cause),
  bottleneck: report.verdict.bottleneck,
  step: report.step.ms,
});

const RUN = { ranks: 4, ranksPerHost: 4, steps: 16, eventsPerStep: 40 } as const;
const ALL = [0, 1, 2, 3];
const CASES = (['ddp', 'fsdp'] as const).flatMap((parallelism, i) =>
  (['data', 'host', 'gpu', null] as const).map((kind, k): SimulateOptions => {
    const fault = kind && { kind, ranks: [1 + ((i + k) % 3)], size: 0.3 };
    return { ...RUN, seed: 10 * i + k, parallelism, fault };
  }),
);

it.each(CASES)('traces do not change who is late: $parallelism, $fault', async (options) => {
  const { fault } = options;
  const alone = await told(options, []);
  expect(alone.stragglers.flatMap((s) => s.ranks)).toEqual(fault?.ranks ?? []);
  expect(answer(await told(options, [0]))).toEqual(answer(alone));
  const all = await told(options, ALL);
  expect(late(all)).toEqual(late(alone));
  expect(all.verdict.bottleneck).toBe(alone.verdict.bottleneck);
  expect(all.step.ms! / alone.step.ms!).toBeCloseTo(1, 1);
});

const FAULT = { kind: 'host', ranks: [2], size: 0.4 } as const;
const SLOW: SimulateOptions = { ...RUN, seed: 7, parallelism: 'ddp', fault: FAULT };

it('a window in which the rank is not late does not acquit it', async () => {
  const report = await told(SLOW, ALL, { fault: null });
  expect(late(report)).toEqual([{ ranks: [2], pattern: 'persistent' }]);
  expect(report.findings.map((f) => f.rule)).toContain('W1');
  // The figures of the critical path are those of the same steps.
  expect(report.critical_path!.by_rank[0]!.rank).toBe(2);
});

it('a window in which a rank happens to be late does not convict it', async () => {
  const report = await told({ ...SLOW, fault: null }, ALL, { fault: FAULT });
  expect(report.stragglers).toEqual([]);
});
