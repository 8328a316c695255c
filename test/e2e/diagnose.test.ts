import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { reportSchema } from '../../schemas/report-schema.js';
import { inFolder, root, whyslow } from '../helpers/cli.js';
import { drawJson, steps } from '../helpers/draw-trace.js';

const ZOO = join(root, 'zoo/fixtures');
const trace = (name: string) => join(ZOO, name, 'rank0.json.gz');

async function report(args: readonly string[]) {
  const { stdout, stderr, code } = await whyslow(['diagnose', '--json', ...args]);
  expect(stderr).toBe('');
  return { code, report: reportSchema.parse(JSON.parse(stdout)) };
}

/** The built library in this process: what only looks at the report need not start a program for each. */
const { diagnose } = (await import(join(root, 'dist/index.js'))) as typeof import('../../src/index.js');
const ofRanks = async (name: string) =>
  reportSchema.parse(await diagnose(join(root, 'test/fixtures/zoo-ranks', name), { jobs: 1 }));

describe('whyslow diagnose', () => {
  it('gives one answer with evidence and a fix to paste, in 80 columns', async () => {
    const { stdout, code } = await whyslow(['diagnose', trace('data_io_w0')]);
    expect(code).toBe(0);
    expect(stdout.split('\n')[0]).toMatch(/^Data-bound: the GPU spends 9\d% of every step waiting for/);
    expect(stdout).toMatch(/\d+ ms under the profiler, \d+ ms without it \(estimated\)/);
    expect(stdout).toContain('(T4)');
    expect(stdout).toContain('num_workers=8');
    expect(stdout.split('\n').filter((l) => [...l].length > 80)).toEqual([]);
  });

  it('prints a report that its schema accepts, whose parts add up', async () => {
    const { code, report: r } = await report([trace('fp32_no_tf32')]);
    expect(code).toBe(0);
    expect(r.verdict.bottleneck).toBe('gpu');
    expect(Object.values(r.time).reduce((a, b) => a + b, 0)).toBeCloseTo(1, 6);
    expect(r.findings.map((f) => f.rule).slice(0, 2)).toEqual(['T9', 'T13']);
    const saved = r.findings.reduce((ms, f) => ms + (f.saving_ms ?? 0), 0);
    expect(saved).toBeLessThan(r.step.ms!);
    expect(r.ranks[0]!.gpu!.compute_us).toBeGreaterThan(0);
  });

  it.each([
    ['the answer is among those asked for', ['--fail-on', 'data,comms'], 1],
    ['the answer is another', ['--fail-on', 'comms'], 0],
  ])('%s: exit %s', async (_, args, expected) => {
    const { code } = await whyslow(['diagnose', trace('data_io_w0'), ...args]);
    expect(code).toBe(expected);
  });

  it('analyzes only the steps asked for', async () => {
    const { report: r } = await report([trace('adam_forloop'), '--steps', '4-5']);
    expect(r.step).toMatchObject({ first: 4, last: 5, count: 2 });
    const { code, stderr } = await whyslow(['diagnose', trace('adam_forloop'), '--steps', '100-200']);
    expect(code).toBe(2);
    expect(stderr).toContain('none of the selected steps');
  });

  it('analyzes only the ranks asked for, and lists those there are', async () => {
    const folder = join(root, 'test/fixtures/zoo-ranks/balanced');
    const { report: r } = await report([folder, '--ranks', '1,3']);
    expect(r.ranks.map((x) => x.rank)).toEqual([1, 3]);
    const { code, stderr } = await whyslow(['diagnose', folder, '--ranks', '9']);
    expect(code).toBe(2);
    expect(stderr).toContain('captured ranks: 0–3');
  });

  it('names the late rank, the cause and the cost', async () => {
    const { report: r } = await report([join(root, 'test/fixtures/zoo-ranks/straggler_host')]);
    expect(r.verdict.bottleneck).toBe('host');
    expect(r.stragglers).toMatchObject([{ ranks: [2], pattern: 'persistent', cause: 'host' }]);
    expect(r.stragglers[0]!.cost_ms).toBeGreaterThan(17);
    expect(r.stragglers[0]!.cost_ms).toBeLessThan(24);
    expect(r.findings[0]).toMatchObject({ rule: 'W1', ranks: [2] });
    expect(r.collectives!.matched).toBeGreaterThan(10);
    expect(r.heat!.rows).toHaveLength(4);
  });

  it('names a rank whose GPU is late although its host issues the collective on time', async () => {
    const r = await ofRanks('straggler_gpu');
    expect(r.verdict.bottleneck).toBe('gpu');
    expect(r.stragglers).toMatchObject([{ ranks: [1], pattern: 'persistent', cause: 'gpu' }]);
    // Twelve products of 2.67 ms.
    expect(r.stragglers[0]!.cost_ms).toBeGreaterThan(26);
    expect(r.stragglers[0]!.cost_ms).toBeLessThan(36);
    expect(r.findings[0]).toMatchObject({ rule: 'W1', ranks: [1] });
  });

  it('names a rank that is late now and then', async () => {
    const r = await ofRanks('straggler_transient');
    expect(r.stragglers).toMatchObject([{ ranks: [3], pattern: 'spike', cause: 'host' }]);
    // 30 ms in two of ten steps.
    expect(r.stragglers[0]!.cost_ms).toBeGreaterThan(4.8);
    expect(r.stragglers[0]!.cost_ms).toBeLessThan(7.2);
  });

  it.each([
    ['balanced', null],
    ['comms_bound', 'comms'],
  ])('names nobody in %s', async (name, bottleneck) => {
    const r = await ofRanks(name);
    expect(r.stragglers).toEqual([]);
    if (bottleneck) expect(r.verdict.bottleneck).toBe(bottleneck);
  });

  it('draws which rank is late in which step', async () => {
    const { stdout } = await whyslow(['diagnose', 'test/fixtures/zoo-ranks/straggler_host'], { cwd: root });
    expect(stdout).toMatch(/lateness by step, 4–12, █ = \d/);
    expect(stdout).toMatch(/rank +2 {2}[▅▆▇█]{9}/);
    expect(stdout.split('\n').filter((l) => [...l].length > 80)).toEqual([]);
  });

  it('handles jobs without a GPU', async () => {
    const { report: r } = await report([trace('cpu_only')]);
    expect(r.verdict.bottleneck).toBe('compute');
    expect(r.verdict.sentence).not.toContain('GPU');
    expect(r.ranks[0]!.gpu).toBeNull();
  });

  it.each([
    [
      'no steps',
      'host 1  aten::mm 0-900 x5@1000 | cudaLaunchKernel 100-110 #1 x5@1000\ngpu 7  sgemm 150-900 #1 x5@1000',
    ],
    ['one step', 'host 1  ProfilerStep#1 0-1000 | cudaLaunchKernel 100-110 #1\ngpu 7  sgemm 150-900 #1'],
    ['no host events', 'gpu 7  sgemm 0-900 x5@1000'],
    ['nothing but a step', 'host 1  ProfilerStep#1 0-1000'],
  ])('a trace with %s gets a sensible report or unknown with what to capture', async (_, drawing) => {
    await inFolder(async (folder) => {
      const file = join(folder, 'trace.json');
      writeFileSync(file, drawJson(drawing));
      const { code, report: r } = await report([file]);
      if (r.verdict.bottleneck === 'unknown') {
        expect(code).toBe(3);
        expect(r.verdict.next.length).toBeGreaterThan(0);
      } else {
        expect(code).toBe(0);
        expect(r.verdict.confidence).toBeLessThan(0.9);
      }
    });
  });

  it('reads event logs alone, and joins them with a trace', async () => {
    await inFolder(async (folder) => {
      const records = (data: number, step: number) =>
        Array.from({ length: 12 }, (_, i) =>
          [
            { name: 'data_wait', step: i, rank: 0, duration_ms: data, clock: 'host' },
            { name: 'training_step', step: i, rank: 0, duration_ms: step, clock: 'gpu' },
          ].map((e) => JSON.stringify(e)),
        ).flat();
      const log = join(folder, 'cuda_events_rank_0.jsonl');
      writeFileSync(log, `${records(80, 100).join('\n')}\n`);
      const alone = await report([log]);
      expect(alone.report.verdict.bottleneck).toBe('data');
      expect(alone.report.step).toMatchObject({ source: 'events', profiled_ms: null });
      const drawing = steps(
        4,
        20000,
        'host 1  ProfilerStep#1 0-20000 | cudaLaunchKernel 100-110 #1\ngpu 7  sgemm 150-19000 #1',
      );
      writeFileSync(join(folder, 'rank0.json.gz'), gzipSync(drawJson(drawing)));
      const joined = await report([folder]);
      expect(joined.report.step).toMatchObject({ source: 'events', ms: 100, profiled_ms: 20 });
      expect(joined.report.verdict.bottleneck).toBe('data');
    });
  });

  it('prints control characters in names safely', async () => {
    await inFolder(async (folder) => {
      const evil = '\u001b[31m<script>alert(1)</script>\u202e';
      const drawing = steps(
        4,
        20000,
        `host 1  ProfilerStep#1 0-20000 | cudaLaunchKernel 100-110 #1\ngpu 7  ${evil}sgemm 150-19000 #1`,
      );
      writeFileSync(join(folder, 't.json'), drawJson(drawing));
      const { stdout, code } = await whyslow(['diagnose', '--all', join(folder, 't.json')]);
      expect(code).toBe(0);
      expect(stdout).not.toMatch(/[\u001b\u202e]/);
    });
  });
});
