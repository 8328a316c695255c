import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { reportSchema } from '../../schemas/report-schema.js';
import { traceFactsOf } from '../../src/ingest/input.js';
import { readInputs } from '../../src/ingest/read-run.js';
import { diagnose } from '../../src/library/diagnose.js';
import { renderInspect } from '../../src/render/terminal/inspect.js';
import { buildInspectReport } from '../../src/report/inspect-report.js';
import { inFolder, root } from '../helpers/cli.js';
import { toManifests, toTelemetry, writeCapture } from '../helpers/simulate/capture-files.js';
import type { SimulateOptions } from '../helpers/simulate/options.js';
import { simulateRun } from '../helpers/simulate/simulate.js';

/** Diagnoses the files of a simulated capture. `change` may add to them or damage them. */
async function diagnosed(
  options: SimulateOptions,
  what: Parameters<typeof writeCapture>[2],
  change: (folder: string) => void = () => {},
) {
  return inFolder(async (folder) => {
    writeCapture(simulateRun(options), folder, what);
    change(folder);
    return reportSchema.parse(await diagnose([folder], { steps: null, ranks: null, jobs: 1 }));
  });
}

const BASE = { seed: 3, ranks: 8, ranksPerHost: 4, steps: 8, eventsPerStep: 80 } as const;
const HOT = { ...BASE, parallelism: 'ddp', fault: { kind: 'clock', ranks: [5], size: 0.3 } } as const;
const CLOCKS = /its GPU ran at 1,\d{3} MHz against 1,755 on the others \(thermal slowdown 33% of the time\)$/;

describe('a GPU whose clock is low', () => {
  it('a GPU whose clock is low is named with its clock, from traces and telemetry', async () => {
    const r = await diagnosed(HOT, { traces: true, telemetry: true });
    expect(r.stragglers).toMatchObject([{ ranks: [5], pattern: 'persistent', cause: 'gpu' }]);
    expect(r.stragglers[0]!.sentence).toMatch(CLOCKS);
    expect(r.verdict.sentence).toMatch(CLOCKS);
    const w1 = r.findings.find((f) => f.rule === 'W1')!;
    expect(w1).toMatchObject({ cost: 'hardware', ranks: [5], evidence: [{}, { unit: 'MHz', rank: 5 }] });
    expect(r.findings.find((f) => f.rule === 'T2')).toMatchObject({
      id: 'gpu-throttled',
      cost: 'hardware',
      ranks: [5],
    });
    expect(new Set(r.inputs.map((i) => i.kind))).toEqual(new Set(['kineto', 'manifest', 'dmon']));
    expect(r.ignored).toEqual([]);
  });

  it('a GPU whose clock is low is found from event logs too, whose phases alone do not separate computing from host time', async () => {
    const r = await diagnosed(HOT, { logs: true, telemetry: true });
    expect(r.stragglers).toMatchObject([{ ranks: [5], cause: 'gpu' }]);
    expect(r.stragglers[0]!.sentence).toMatch(CLOCKS);
  });

  it('a GPU whose clock is low is not blamed when the rank only has more work: its clock equals the others’', async () => {
    const fault = { ...HOT.fault, kind: 'gpu' } as const;
    const r = await diagnosed({ ...HOT, fault }, { traces: true, telemetry: true });
    expect(r.stragglers).toMatchObject([{ ranks: [5], cause: 'gpu' }]);
    expect(r.stragglers[0]!.sentence).toMatch(/: computing$/);
    expect(r.findings.filter((f) => f.rule === 'T2')).toEqual([]);
  });

  it('belongs to no rank when the telemetry does not name its machine', async () => {
    const r = await diagnosed(HOT, { traces: true }, (folder) => {
      const [first] = toTelemetry(simulateRun(HOT));
      writeFileSync(join(folder, 'dmon.txt'), first!.text);
    });
    expect(r.stragglers[0]!.sentence).toMatch(/: computing$/);
    expect(r.health.problems.map((p) => p.code)).toContain('telemetry-unplaced');
    expect(r.silent).toContainEqual({ rule: 'T2', reason: 'no telemetry of its GPU' });
  });
});

describe('telemetry with real traces', () => {
  const ZOO = join(root, 'zoo/fixtures');
  const read = (paths: readonly string[]) => diagnose(paths, { steps: null, ranks: null, jobs: 1 });
  /** What was recorded with `fp32_tf32`: power, degrees, busy, clock, violations of power and heat. */
  const AT_THE_LIMIT = [
    [686, 62, 100, 1965, 0, 0],
    [694, 63, 100, 1875, 100, 0],
    [686, 64, 100, 1920, 100, 0],
    [685, 64, 100, 1815, 100, 0],
  ];
  const withTelemetry = (name: string, rows: readonly (readonly number[])[]) =>
    inFolder(async (folder) => {
      copyFileSync(join(ZOO, name, 'rank0.json.gz'), join(folder, 'rank0.json.gz'));
      const lines = ['# gpu pwr gtemp sm pclk pviol tviol', ...rows.map((r) => `0 ${r.join(' ')}`)];
      writeFileSync(join(folder, 'dmon.txt'), `${lines.join('\n')}\n`);
      return read([folder]);
    });

  it.each(['h2d_pinned', 'adam_forloop', 'data_io_w0'])(
    'telemetry with real traces of a healthy GPU changes nothing: %s',
    async (name) => {
      const alone = await read([join(ZOO, name, 'rank0.json.gz')]);
      const beside = await read([join(ZOO, name)]);
      expect(beside.inputs.map((i) => `${i.kind} ${i.rank}`)).toEqual(['kineto 0', 'dmon null']);
      expect(beside.verdict).toEqual(alone.verdict);
      expect(beside.findings).toEqual(alone.findings);
      expect(beside.health).toEqual(alone.health);
    },
  );

  it('telemetry of a GPU at its usual power limit changes nothing about real traces either', async () => {
    const { verdict, findings } = await withTelemetry('fp32_tf32', AT_THE_LIMIT);
    expect(verdict.bottleneck).toBe('gpu');
    expect(findings.map((f) => f.rule)).toEqual(['T13']);
  });

  it('telemetry of a hot GPU with real traces is a finding, listed after those with a price', async () => {
    const hot = AT_THE_LIMIT.map(([, , busy], i) => [310, 88, busy!, 1050, 0, i % 2]);
    const { verdict, findings } = await withTelemetry('fp32_tf32', hot);
    expect(verdict).toMatchObject({ bottleneck: 'gpu', cause: findings[0]!.id });
    expect(findings.map((f) => f.rule)).toEqual(['T13', 'T2']);
    expect(findings[1]!.evidence[0]!.text).toBe(
      'busy in 100% of samples at 1,050 MHz (thermal slowdown 50% of the time), 310 W, up to 88 °C',
    );
  });
});

describe('locations of late ranks', () => {
  const stage = { kind: 'gpu', ranks: [2, 3], size: 0.3 } as const;

  it('use the axis names of the run', async () => {
    const options = {
      ...BASE,
      ranksPerHost: 8,
      parallelism: 'mesh2d',
      tensorParallel: 2,
      fault: stage,
    } as const;
    const r = await diagnosed(options, { traces: true });
    expect(r.stragglers).toMatchObject([{ ranks: [2, 3], pattern: 'stage', cause: 'gpu' }]);
    expect(r.stragglers[0]!.sentence).toMatch(/^All ranks at dp 1 are late/);
    expect(r.ranks.map((x) => x.coordinates)).toEqual(
      [0, 1, 2, 3, 4, 5, 6, 7].map((rank) => ({ dp: rank >> 1, tp: rank % 2 })),
    );
    expect(r.health.problems.map((p) => p.code)).not.toContain('groups-outside-mesh');
  });

  it('use the host names of manifests when logs have none', async () => {
    const fault = { kind: 'data', ranks: [4, 5, 6, 7], size: 0.3 } as const;
    const options = { ...BASE, parallelism: 'ddp', fault } as const;
    const r = await diagnosed(options, { logs: true });
    expect(r.stragglers).toMatchObject([{ ranks: [4, 5, 6, 7], pattern: 'host', cause: 'data' }]);
    expect(r.stragglers[0]!.sentence).toMatch(/^All ranks of node-1 are late/);
    expect(r.ranks.map((x) => x.host)).toEqual([0, 1, 2, 3, 4, 5, 6, 7].map((rank) => `node-${rank >> 2}`));
  });

  it('name both the stage and the machine when a pipeline stage fills one', async () => {
    const fault = { kind: 'gpu', ranks: [4, 5, 6, 7], size: 0.3 } as const;
    const r = await diagnosed({ ...BASE, parallelism: 'pipeline', stages: 2, fault }, { traces: true });
    expect(r.stragglers).toMatchObject([{ ranks: [4, 5, 6, 7], pattern: 'stage' }]);
    expect(r.stragglers[0]!.sentence).toMatch(/^All ranks at pp 1 \(node-1\) are late/);
  });

  it('follow the manifest when process groups contradict it, and report the conflict', async () => {
    const options = { ...BASE, ranksPerHost: 8, parallelism: 'mesh2d', tensorParallel: 2 } as const;
    const r = await diagnosed(options, { traces: true }, (folder) => {
      for (const { path, text } of toManifests(simulateRun(options))) {
        const turned = JSON.parse(text) as { mesh?: object; coordinates?: object; rank?: number };
        const rank = turned.rank ?? 0;
        // As if tensor-parallel ranks were far apart.
        if (turned.mesh) turned.mesh = { axes: ['dp', 'tp'], sizes: [2, 4] };
        else turned.coordinates = { dp: rank >> 2, tp: rank % 4 };
        writeFileSync(join(folder, path), JSON.stringify(turned));
      }
    });
    expect(r.ranks[5]!.coordinates).toEqual({ dp: 1, tp: 1 });
    expect(r.health.problems.map((p) => p.code)).toContain('groups-outside-mesh');
  });
});

describe('the manifests of a capture', () => {
  const options = { ...BASE, parallelism: 'ddp' } as const;

  it('the manifests of a capture are shown by inspect', async () => {
    await inFolder(async (folder) => {
      writeCapture(simulateRun({ ...options, missingRanks: [7] }), folder, { logs: true, telemetry: true });
      const report = buildInspectReport(await readInputs([folder], 'summary', { jobs: 1 }));
      expect(report).toMatchObject({ ranks: [0, 1, 2, 3, 4, 5, 6], world_size: 8, ignored: [] });
      const kinds = report.inputs.map((i) => `${i.kind} ${i.rank ?? '-'} ${i.host ?? '-'} ${i.events}`);
      expect(kinds).toContain('manifest 5 node-1 0');
      expect(kinds).toContain('manifest - - 0');
      expect(kinds).toContain('dmon - node-1 120');
      expect(report.inputs.find((i) => i.rank === 5 && i.manifest)!.manifest).toMatchObject({
        host: 'node-1',
      });
      const page = renderInspect(report, { color: false });
      expect(page).toMatch(/^7 event logs, 2 telemetry logs, 8 manifests: /);
      expect(page).toMatch(/ranks {4}0–6 of 8 .*\n {2}devices {2}4 × NVIDIA H200\n {2}mesh {5}dp 8\n/);
      expect(page).toContain('gpus     8 GPUs in telemetry: 100% busy, 1,755 MHz, 690 W, 62 °C at most\n');
      expect(page).toMatch(/ {10}\S+dmon-node-0.txt +\S+ kB +120 samples/);
      for (const columns of [80, 60]) {
        const narrow = renderInspect(report, { color: false, columns });
        expect(narrow.split('\n').filter((l) => [...l].length > columns)).toEqual([]);
        expect(narrow).toMatch(/^ {10}\S*dmon-node-0.txt /m);
      }
    });
  });

  it('do not count as traces: eight ranks are still analyzed in full', async () => {
    await inFolder(async (folder) => {
      writeCapture(simulateRun(options), folder, { traces: true, logs: true, telemetry: true });
      const run = await readInputs([folder], { facts: { steps: null } }, { jobs: 1 });
      expect(run.members.flatMap((m) => traceFactsOf(m)?.light ?? [])).toEqual(Array(8).fill(false));
    });
  });

  it('give the number of ranks when logs do not', async () => {
    const r = await diagnosed({ ...options, missingRanks: [0, 1, 2, 4, 6] }, { logs: true });
    expect(r.health.problems).toContainEqual(
      expect.objectContaining({ code: 'missing-ranks', message: '3 of 8 ranks were captured' }),
    );
  });

  it('keep runs apart that share a folder', async () => {
    const r = await diagnosed({ ...options, ranks: 4 }, { logs: true }, (folder) => {
      // An earlier run of eight ranks left the files of the last four behind.
      const old = simulateRun({ ...options, seed: 9 });
      const older = (text: string) => text.replace('1790857026000000000', '1790857000000000000');
      for (const { path, text } of toManifests(old))
        if (/rank_[4-7]/.test(path)) writeFileSync(join(folder, path), older(text));
      const logs = join(folder, 'cuda_event_profiler');
      mkdirSync(logs, { recursive: true });
      const record = '{"name":"training_step","step":1,"rank":6,"duration_ms":50}\n';
      const header = '{"whyslow":1,"run":"simulated-9","rank":6,"anchors":[{"wall_ns":1790}]}\n';
      writeFileSync(join(logs, 'cuda_events_rank_6.jsonl'), header + record.repeat(5));
    });
    expect(r.ranks.map((x) => x.rank)).toEqual([0, 1, 2, 3]);
    expect(r.health.problems).toContainEqual(
      expect.objectContaining({
        code: 'other-run',
        message: 'some files belong to another run (simulated-9): 4 manifests, records of 1 log',
      }),
    );
  });
});
