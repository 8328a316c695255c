import { rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { reportSchema } from '../../schemas/report-schema.js';
import { InputError } from '../../src/base/input-error.js';
import { type DiagnoseOptions, diagnose } from '../../src/library/diagnose.js';
import { inspect } from '../../src/library/inspect.js';
import type { InspectReport } from '../../src/report/inspect-report.js';
import type { Report } from '../../src/report/report.js';
import { inFolder } from '../helpers/folder.js';
import { writeCapture } from '../helpers/simulate/capture-files.js';
import type { SimulateOptions } from '../helpers/simulate/options.js';
import { simulateRun } from '../helpers/simulate/simulate.js';

/** What is left of a small captured run, through the library: two machines with two ranks each, rank 2 has a hot GPU. */
const SMALL: SimulateOptions = {
  seed: 3,
  ranks: 4,
  ranksPerHost: 2,
  steps: 6,
  eventsPerStep: 40,
  parallelism: 'ddp',
  fault: { kind: 'clock', ranks: [2], size: 0.4 },
};
const RUN = simulateRun(SMALL);

interface Found {
  readonly report: Report;
  readonly inspected: InspectReport;
}

function captured(
  what: Parameters<typeof writeCapture>[2],
  change: (folder: string) => void = () => {},
  options: DiagnoseOptions = {},
): Promise<Found> {
  return inFolder(async (folder) => {
    writeCapture(RUN, folder, what);
    change(folder);
    const report = await diagnose([folder], { jobs: 1, ...options });
    const inspected = await inspect([folder], { jobs: 1 });
    expect(reportSchema.safeParse(report).error).toBeUndefined();
    const short = <T extends { readonly path: string }>(inputs: readonly T[]) =>
      inputs.map((i) => ({ ...i, path: relative(folder, i.path) }));
    return {
      report: { ...report, inputs: short(report.inputs) },
      inspected: { ...inspected, inputs: short(inspected.inputs) },
    };
  });
}
const problems = (report: Pick<Report, 'health'>) => report.health.problems.map((p) => p.code);

describe('a capture with traces and telemetry', () => {
  const found = () => captured({ traces: true, telemetry: true });

  it('says where each rank ran', async () => {
    const { report } = await found();
    expect(report.ranks.map((r) => [r.rank, r.host, r.coordinates])).toEqual([
      [0, 'node-0', { dp: 0 }],
      [1, 'node-0', { dp: 1 }],
      [2, 'node-1', { dp: 2 }],
      [3, 'node-1', { dp: 3 }],
    ]);
  });

  it('lists every file with what it is of', async () => {
    const { report, inspected } = await found();
    const listed = [
      ...[0, 1, 2, 3].map((r) => [`traces/step_0/rank-${r}.json`, 'kineto', r]),
      ...[0, 1, 2, 3].map((r) => [`ranks/rank_${r}.json`, 'manifest', r]),
      ['run.json', 'manifest', null],
      ['telemetry/dmon-node-0.txt', 'dmon', null],
      ['telemetry/dmon-node-1.txt', 'dmon', null],
    ];
    expect(report.inputs.map((i) => [i.path, i.kind, i.rank])).toEqual(listed);
    expect(inspected.inputs.map((i) => [i.path, i.kind, i.rank])).toEqual(listed);
  });

  it('names the rank with the hot GPU in the verdict, and the finding as its cause', async () => {
    const { report } = await found();
    expect(report.stragglers).toMatchObject([{ ranks: [2], cause: 'gpu' }]);
    expect(Math.abs(report.stragglers[0]!.cost_ms / RUN.truth.costMs - 1)).toBeLessThan(0.1);
    expect(report.stragglers[0]!.sentence).toMatch(/1,216 MHz.*1,755/);
    expect(report.verdict.sentence).toContain(report.stragglers[0]!.sentence);
    expect(report.verdict).toMatchObject({ bottleneck: 'gpu', cause: 'late-rank-2', second: null, next: [] });
    expect(report).toMatchObject({ ignored: [], health: { grade: 'good', problems: [] } });
  });

  it('has step times and shares of the rank that sets the pace', async () => {
    const { report } = await found();
    expect(Math.abs(report.step.ms! / RUN.truth.stepMs - 1)).toBeLessThan(0.02);
    expect(report.time.compute).toBeGreaterThan(0.9);
    expect(report.step.source).toBe('gpu-timeline');
  });

  it('is summed up by inspect', async () => {
    const { inspected } = await found();
    expect(inspected).toMatchObject({ ranks: [0, 1, 2, 3], world_size: 4, ignored: [], problems: [] });
    expect(inspected.devices.map((d) => [d.id, d.name])).toEqual([
      [0, 'NVIDIA H200'],
      [1, 'NVIDIA H200'],
    ]);
    const traces = inspected.inputs.filter((i) => i.kind === 'kineto');
    expect(traces.map((t) => [t.host, t.steps.length, t.streams])).toEqual([
      ['node-0', 6, 2],
      ['node-0', 6, 2],
      ['node-1', 6, 2],
      ['node-1', 6, 2],
    ]);
    const kernels = (counts: InspectReport['categories']) =>
      counts.find((c) => c.category === 'kernel' && c.phase === 'X')!.events;
    expect(kernels(inspected.categories)).toBe(traces.reduce((n, t) => n + kernels(t.categories), 0));
    const events = inspected.categories.map((c) => c.events);
    expect(events).toEqual(events.toSorted((a, b) => b - a));
    expect(inspected.reading.events).toBe(traces.reduce((n, t) => n + t.events, 0));
    const byKind = (kind: string) => inspected.inputs.find((i) => i.kind === kind)!;
    expect(byKind('manifest')).toMatchObject({
      host: 'node-0',
      gpus: null,
      manifest: { of: 'rank', rank: 0 },
    });
    expect(byKind('dmon').gpus).toMatchObject([{ clock: 1755, temperature: 62 }, {}]);
    expect(byKind('kineto')).toMatchObject({ manifest: null, gpus: null, event_log: null });
  });
});

describe('a part of a capture', () => {
  it('may be some of the ranks', async () => {
    const { report } = await captured({ traces: true }, undefined, { ranks: [0, 3] });
    expect(report.ranks.map((r) => r.rank)).toEqual([0, 3]);
    expect(report.stragglers).toEqual([]);
    expect(report.inputs.filter((i) => i.kind === 'kineto').map((i) => i.rank)).toEqual([0, 3]);
  });

  it('may be a single rank, which has nothing to be compared with', async () => {
    const { report } = await captured({ traces: true }, undefined, { ranks: [2] });
    expect(report).toMatchObject({ heat: null, critical_path: null, collectives: null, what_if: null });
    expect(report.ranks).toMatchObject([{ rank: 2, clock: null, coordinates: { dp: 2 } }]);
  });

  it('must have been captured', async () => {
    const asked = (options: DiagnoseOptions) => captured({ traces: true }, undefined, options);
    await expect(asked({ ranks: [7] })).rejects.toThrow(InputError);
    await expect(asked({ ranks: [7] })).rejects.toThrow(/captured ranks: 0–3/);
    await expect(asked({ steps: { first: 70, last: 80 } })).rejects.toThrow(InputError);
  });

  it('may be some of the steps', async () => {
    const { report } = await captured({ traces: true }, undefined, { steps: { first: 3, last: 4 } });
    expect(report.step).toMatchObject({ first: 3, last: 4, count: 2 });
    expect(report.heat!.steps).toEqual([3, 4]);
  });
});

describe('a capture with something missing', () => {
  it('has no telemetry of a machine that is not named', async () => {
    const { report } = await captured({ traces: true, telemetry: true }, (folder) => {
      for (const host of [0, 1]) rmSync(join(folder, `telemetry/dmon-node-${host}.txt`));
      writeFileSync(
        join(folder, 'dmon.txt'),
        '# gpu    pwr   sm   pclk\n# Idx      W    %    MHz\n    0    690  100   1755\n',
      );
    });
    expect(problems(report)).toContain('telemetry-unplaced');
    expect(report.stragglers[0]!.sentence).not.toContain('MHz');
  });

  it('names files that are nothing it reads', async () => {
    const { report, inspected } = await captured({ traces: true }, (folder) =>
      writeFileSync(join(folder, 'notes.txt'), 'remember the milk\n'),
    );
    expect(report.ignored).toEqual([expect.stringContaining('notes.txt')]);
    expect(inspected.ignored).toEqual(report.ignored);
  });

  it('knows of a rank without a trace', async () => {
    const { report, inspected } = await captured({ traces: true }, (folder) =>
      rmSync(join(folder, 'traces/step_0/rank-3.json')),
    );
    expect(report.ranks.map((r) => r.rank)).toEqual([0, 1, 2]);
    expect(problems(report).length).toBeGreaterThan(0);
    expect(inspected.ranks).toEqual([0, 1, 2]);
    expect(inspected.world_size).toBe(4);
  });

  it('has a problem with a manifest of another rank', async () => {
    const { report, inspected } = await captured({ traces: true }, (folder) =>
      writeFileSync(
        join(folder, 'ranks/rank_1.json'),
        '{"whyslow": 1, "run": "simulated-3", "rank": 0, "host": "elsewhere"}',
      ),
    );
    expect(problems(report)).toEqual(['manifest-conflict', 'place-conflict']);
    expect(problems(inspected)).toEqual(['manifest-conflict']);
    expect(inspected.problems.map((p) => p.code)).toEqual(['manifest-conflict']);
  });
});

describe('a capture with event logs', () => {
  it('alone gives the same answer, from phases', async () => {
    const { report } = await captured({ logs: true });
    expect(report.step.source).toBe('events');
    expect(report.step.profiled_ms).toBeNull();
    expect(Math.abs(report.step.ms! / RUN.truth.stepMs - 1)).toBeLessThan(0.02);
    expect(report.stragglers).toMatchObject([{ ranks: [2] }]);
    expect(report.ranks.every((r) => r.gpu === null)).toBe(true);
    expect(report.ranks.map((r) => r.host)).toEqual(['node-0', 'node-0', 'node-1', 'node-1']);
  });

  it('beside traces takes step times from the logs', async () => {
    const { report } = await captured({ logs: true, traces: true });
    expect(report.step).toMatchObject({ source: 'events', corrected: false });
    expect(report.step.profiled_ms).not.toBeNull();
    expect(report.ranks).toHaveLength(4);
  });

  it('may be asked for some of the steps', async () => {
    const { report } = await captured({ logs: true }, undefined, { steps: { first: 2, last: 4 } });
    // A step ends where the next one begins, so the last one asked for has no end.
    expect(report.step).toMatchObject({ first: 2, last: 3 });
  });
});

describe('many ranks', () => {
  it('are read with all details where they are late', () =>
    inFolder(async (folder) => {
      const fault = { kind: 'data', ranks: [30], size: 0.5 } as const;
      const run = simulateRun({ ...SMALL, ranks: 40, ranksPerHost: 8, steps: 4, fault });
      writeCapture(run, folder, { traces: true });
      const report = await diagnose([folder], { jobs: 1 });
      expect(report.stragglers).toMatchObject([{ ranks: [30], cause: 'data' }]);
      expect(report.findings.some((f) => f.rule !== 'W1' && f.ranks.includes(30))).toBe(true);
    }));
});
