import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CompareReport } from '../../src/compare/compare-report.js';
import { diagnose } from '../../src/library/diagnose.js';
import type { Report } from '../../src/report/report.js';
import { SOAK } from '../helpers/cases.js';
import { inFolder, type Ran, whyslow } from '../helpers/cli.js';
import { temporaryFolder } from '../helpers/members.js';
import { describeWithTorch, job, python } from '../helpers/python.js';

const TRAIN = job('train.py');
const torchrun = (ranks: number, ...args: string[]) => [
  ...[python, '-m', 'torch.distributed.run', '--standalone', '--nproc-per-node', `${ranks}`],
  ...args,
];

interface Measured extends Ran {
  readonly report: Report;
}

/** Ranks under torchrun through `whyslow run`, and nothing else. Every fifth step is recorded, so that few are enough. */
async function measureIn(
  cwd: string,
  ranks: number,
  args: readonly string[],
  options: readonly string[] = [],
): Promise<Measured> {
  const ours = ['run', '--out', 'o', '--every', '5', '--report', 'report.json', ...options];
  const ran = await whyslow([...ours, '--', ...torchrun(ranks, TRAIN, ...args)], { cwd });
  if (ran.code !== 0) throw new Error(`exit ${ran.code}\n${ran.stdout}\n${ran.stderr}`);
  return { ...ran, report: JSON.parse(readFileSync(join(cwd, 'report.json'), 'utf8')) as Report };
}
const measured = (ranks: number, ...args: string[]) => inFolder((cwd) => measureIn(cwd, ranks, args));

/** A busy machine holds up a rank now and then; that may be named as well, rightly. */
const withoutSpikes = ({ stragglers }: Report) =>
  stragglers.filter((s) => s.pattern !== 'spike' && s.pattern !== 'rotating');

describeWithTorch('a job under torchrun', () => {
  let healthy: Measured;
  /** Of the healthy one. */
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  beforeAll(async () => {
    folder = await temporaryFolder();
    healthy = await measureIn(folder.path, 2, []);
  });
  afterAll(() => folder.remove());

  it('a job under torchrun without a fault has every rank measured, none late, and does not wait for data', () => {
    expect(healthy.report.ranks.map((r) => r.rank)).toEqual([0, 1]);
    // The launcher imports torch too, and writes nothing.
    expect(readdirSync(join(folder.path, 'o/ranks')).sort()).toEqual(['rank_0.json', 'rank_1.json']);
    expect(readdirSync(join(folder.path, 'o/cuda_event_profiler'))).toHaveLength(2);
    expect(withoutSpikes(healthy.report)).toEqual([]);
    expect(healthy.report.verdict.bottleneck).not.toBe('data');
  });

  it('keeps its standard output to itself; the diagnosis is on the standard error', () => {
    for (const line of healthy.stdout.trim().split('\n')) expect(line).toMatch(/^step \d+ loss/);
    expect(healthy.stderr).toContain(healthy.report.verdict.sentence.split(' ')[0]!);
    expect(healthy.stderr).toContain('measured 2 ranks');
  });

  it('a job under torchrun has its sleeping rank named with the traces of all ranks, of some, and without; the host is the cause', async () => {
    await inFolder(async (cwd) => {
      const sleeps = ['--steps', '40', '--late-rank', '2', '--late-ms', '200'];
      const { report: first } = await measureIn(cwd, 3, sleeps, ['--no-diagnose', '--trace-ranks', 'all']);
      const out = join(cwd, 'o');
      const traces = (readdirSync(out, { recursive: true }) as string[]).filter((f) => /trace\.json/.test(f));
      expect(traces).toHaveLength(3);
      const reports = [first];
      for (const trace of traces.toSorted().toReversed()) {
        rmSync(join(out, trace));
        reports.push(await diagnose([out], { steps: null, ranks: null, jobs: 1 }));
      }
      expect(reports.map((r) => r.inputs.filter((i) => i.kind === 'kineto').length)).toEqual([3, 2, 1, 0]);
      for (const report of reports) {
        const late = withoutSpikes(report);
        expect(late).toMatchObject([{ ranks: [2], pattern: 'persistent', cause: 'host' }]);
        // On an overloaded machine the others come tens of ms late as well.
        expect(late[0]!.cost_ms).toBeGreaterThan(100);
        expect(late[0]!.cost_ms).toBeLessThan(300);
        expect(report.verdict.bottleneck).toBe('host');
        expect(report.step.ms).toBe(reports[3]!.step.ms);
        expect(report.critical_path!.by_rank[0]!.rank).toBe(2);
        expect(report.findings[0]!.rule).toBe('W1');
      }
    });
  });

  // Both at once: they sleep, and it is the sleep that is judged.
  it.concurrent('a job under torchrun with a slow dataset is data-bound, on all ranks, and slower than without: the gate fails', () =>
    inFolder(async (cwd) => {
      const { report } = await measureIn(cwd, 2, ['--steps', '40', '--data-ms', '80']);
      expect(report.verdict.bottleneck).toBe('data');
      expect(report.findings.map((f) => f.rule)).toContain('T4');
      expect(withoutSpikes(report)).toEqual([]);

      const [before, after] = [join(folder.path, 'o'), join(cwd, 'o')];
      const slower = await whyslow(['compare', before, after, '--fail-over', '5%', '--json']);
      expect(slower.code).toBe(1);
      const { verdict, step, time, phases } = JSON.parse(slower.stdout) as CompareReport;
      expect(verdict).toBe('slower');
      expect(step.speedup.likely).toBeLessThan(0.5);
      // The difference is the input's, and is found there.
      const input = time.find((t) => t.class === 'idle_data')!;
      expect(input.after_ms - input.before_ms).toBeGreaterThan(0.6 * (step.after_ms - step.before_ms));
      expect(phases[0]!.name).toMatch(/data_wait|training_step/);
      const faster = await whyslow(['compare', after, before, '--fail-over', '5%']);
      expect(faster.code).toBe(0);
      expect(faster.stdout).toMatch(/× faster|% faster/);
    }));

  // The samples and what is made of them have tests of their own.
  if (SOAK)
    it.concurrent('a job under torchrun with slow workers has them described from /proc, rank by rank', async () => {
      const { report } = await measured(2, '--steps', '40', '--data-ms', '100', '--workers', '1');
      expect(report.inputs.map((i) => i.kind)).toContain('proc-samples');
      const slow = report.findings.find((f) => f.id === 'slow-workers')!;
      expect(slow.ranks).toEqual([0, 1]);
      const texts = slow.evidence.map((e) => e.text).filter((text) => text.startsWith('in /proc'));
      expect(texts[0]).toMatch(/^in \/proc, 1 DataLoader worker: .*sleep on a timer \(time\.sleep\) \d\d/);
    });
});
