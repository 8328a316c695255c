import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { diagnose } from '../../src/library/diagnose.js';
import type { Report } from '../../src/report/report.js';
import { inFolder, type Ran, whyslow } from '../helpers/cli.js';
import { describeWithTorch, job, python } from '../helpers/python.js';

const TRAIN = job('train.py');
const torchrun = (ranks: number, ...args: string[]) => [
  ...[python, '-m', 'torch.distributed.run', '--standalone', '--nproc-per-node', `${ranks}`],
  ...args,
];

interface Measured extends Ran {
  readonly report: Report;
}

/** Ranks under torchrun through `whyslow run`, and nothing else. */
function measured(ranks: number, ...args: string[]): Promise<Measured> {
  return inFolder(async (cwd) => {
    const command = [
      'run',
      '--out',
      'o',
      '--report',
      'report.json',
      '--',
      ...torchrun(ranks, TRAIN, ...args),
    ];
    const ran = await whyslow(command, { cwd });
    if (ran.code !== 0) throw new Error(`exit ${ran.code}\n${ran.stdout}\n${ran.stderr}`);
    return { ...ran, report: JSON.parse(readFileSync(join(cwd, 'report.json'), 'utf8')) as Report };
  });
}

/** A busy machine holds up a rank now and then; that may be named as well, rightly. */
const withoutSpikes = ({ stragglers }: Report) =>
  stragglers.filter((s) => s.pattern !== 'spike' && s.pattern !== 'rotating');

describeWithTorch('a job under torchrun', () => {
  let healthy: Measured;
  beforeAll(async () => {
    healthy = await measured(4);
  });

  it('without a fault has every rank measured, none late, and does not wait for data', () => {
    expect(healthy.report.ranks.map((r) => r.rank)).toEqual([0, 1, 2, 3]);
    expect(withoutSpikes(healthy.report)).toEqual([]);
    expect(healthy.report.verdict.bottleneck).not.toBe('data');
  });

  it('keeps its standard output to itself; the diagnosis is on the standard error', () => {
    for (const line of healthy.stdout.trim().split('\n')) expect(line).toMatch(/^step \d+ loss/);
    expect(healthy.stderr).toContain(healthy.report.verdict.sentence.split(' ')[0]!);
    expect(healthy.stderr).toContain('measured 4 ranks');
  });

  it('has its sleeping rank named, with the host as the cause', async () => {
    const { report } = await measured(4, '--steps', '50', '--late-rank', '2', '--late-ms', '200');
    const late = withoutSpikes(report);
    expect(late).toMatchObject([{ ranks: [2], pattern: 'persistent', cause: 'host' }]);
    // On an overloaded machine the others come tens of ms late as well.
    expect(late[0]!.cost_ms).toBeGreaterThan(100);
    expect(late[0]!.cost_ms).toBeLessThan(300);
    expect(report.verdict.bottleneck).toBe('host');
  });

  it('has the same rank named with the traces of all ranks, of one, and without', async () => {
    await inFolder(async (cwd) => {
      const late = ['--steps', '60', '--late-rank', '1', '--late-ms', '150'];
      const command = ['run', '--no-diagnose', '--out', 'o', '--trace-ranks', 'all', '--'];
      const ran = await whyslow([...command, ...torchrun(2, TRAIN, ...late)], { cwd });
      expect(ran.code, ran.stderr).toBe(0);
      const out = join(cwd, 'o');
      const traces = (readdirSync(out, { recursive: true }) as string[]).filter((f) => /trace\.json/.test(f));
      expect(traces).toHaveLength(2);
      const told = () => diagnose([out], { steps: null, ranks: null, jobs: 1 });
      const reports = [await told()];
      for (const trace of traces.toSorted().toReversed()) {
        rmSync(join(out, trace));
        reports.push(await told());
      }
      expect(reports.map((r) => r.inputs.filter((i) => i.kind === 'kineto').length)).toEqual([2, 1, 0]);
      for (const report of reports) {
        expect(withoutSpikes(report)).toMatchObject([{ ranks: [1], cause: 'host' }]);
        expect(report.verdict.bottleneck).toBe('host');
        expect(report.step.ms).toBe(reports[2]!.step.ms);
        expect(report.critical_path!.by_rank[0]!.rank).toBe(1);
        expect(report.findings[0]!.rule).toBe('W1');
      }
    });
  });

  it('with a slow dataset is data-bound, on all ranks', async () => {
    const { report } = await measured(2, '--steps', '60', '--data-ms', '80');
    expect(report.verdict.bottleneck).toBe('data');
    expect(report.findings.map((f) => f.rule)).toContain('T4');
    expect(withoutSpikes(report)).toEqual([]);
  });

  it('with slow workers has them described from /proc, rank by rank', async () => {
    const { report } = await measured(2, '--steps', '60', '--data-ms', '100', '--workers', '1');
    expect(report.inputs.map((i) => i.kind)).toContain('proc-samples');
    const slow = report.findings.find((f) => f.id === 'slow-workers')!;
    expect(slow.ranks).toEqual([0, 1]);
    const texts = slow.evidence.map((e) => e.text).filter((text) => text.startsWith('in /proc'));
    expect(texts[0]).toMatch(/^in \/proc, 1 DataLoader worker: .*sleep on a timer \(time\.sleep\) \d\d/);
  });
});
