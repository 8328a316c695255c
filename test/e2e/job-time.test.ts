import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Report } from '../../src/report/report.js';
import { inFolder, whyslow } from '../helpers/cli.js';
import { describeWithTorch, job, python } from '../helpers/python.js';

/** A busy machine takes time away between the job's timers and ours. */
const TOLERANCE_S = 0.15;

/** Runs a job that prints its own timers, and returns them with the report. */
const measured = (script: string, ...args: string[]) =>
  inFolder(async (cwd) => {
    const command = [python, job(script), ...args];
    const ran = await whyslow(['run', '--out', 'o', '--report', 'report.json', '--', ...command], { cwd });
    const report = JSON.parse(readFileSync(join(cwd, 'report.json'), 'utf8')) as Report;
    const spent = JSON.parse(/^SPENT (.*)$/m.exec(ran.stdout)![1]!) as Record<string, number>;
    return { report, spent, text: ran.stderr };
  });

const secondsOf = ({ job: time }: Report, name: string) => time!.phases.find((p) => p.name === name)?.s ?? 0;

describeWithTorch('the whole time of a job', () => {
  it('a job that evaluates and saves: the phases agree with the timers in the job', async () => {
    const { report, spent, text } = await measured(
      'whole_job.py',
      '--evaluate-every',
      '4',
      '--start-up',
      '0.5',
    );
    for (const name of ['evaluation', 'checkpoint'])
      expect(Math.abs(secondsOf(report, name) - spent[name]!)).toBeLessThan(
        TOLERANCE_S + 0.05 * spent[name]!,
      );
    const shares = report.job!.phases.reduce((sum, p) => sum + p.share, 0);
    expect(shares).toBeCloseTo(1, 6);
    expect(secondsOf(report, 'start-up')).toBeGreaterThan(0.5);
    expect(report.job!.phases.find((p) => p.name === 'evaluation')!.count).toBe(30);
    // The step is what passes from one to the next, and its training part is known too.
    const each = report.step.parts.find((p) => p.name === 'evaluation')!;
    expect(each.ms).toBeCloseTo((1000 * secondsOf(report, 'evaluation')) / 120, 3);
    expect(report.verdict).toMatchObject({ bottleneck: 'host', cause: 'evaluation-time' });
    // On a busy machine cpu-contention may come first.
    expect(report.findings).toContainEqual(
      expect.objectContaining({ id: 'evaluation-time', addresses: 'host' }),
    );
    expect(text).toMatch(/of \d.* s: .*% evaluation/);
  });

  // Both at once: each needs one core, and its own timers are slowed down with it.
  it.concurrent('a phase that the job names itself is in the breakdown and in the headline', async () => {
    const { report, spent } = await measured('rollout_job.py');
    const rollout = secondsOf(report, 'rollout');
    // Three of four steps are not recorded.
    expect(rollout / spent.rollout!).toBeGreaterThan(0.5);
    expect(rollout / spent.rollout!).toBeLessThan(1.5);
    expect(report.job!.phases.find((p) => p.name === 'rollout')).toMatchObject({ sampled: true });
    expect(report.verdict.sentence).toMatch(/of the job’s time.* is “rollout”$/);
    expect(report.verdict).toMatchObject({ bottleneck: 'host', cause: 'rollout-time' });
  });

  it.concurrent('a job with a rollout before every four optimizer steps is reported by iterations', async () => {
    const { report, spent, text } = await measured('ppo_job.py');
    expect(report.step.iteration).toMatchObject({ optimizer_steps: 4, optimizers: 1, rollout: true });
    expect(text).toContain('a step here is one iteration: a rollout and 4 optimizer steps');
    // An optimizer step would be a tenth of it. The medians are of different steps: ours leave out the profiler's window.
    const ratio = report.step.ms! / (1000 * spent.median_iteration!);
    expect(ratio).toBeLessThan(2);
    expect(ratio).toBeGreaterThan(0.5);
    expect(report.step.profiled_ms).toBeGreaterThan(report.step.ms! / 3);
    const rollout = secondsOf(report, 'no_grad');
    // A busy machine and the profiler hold up some rollouts, which may not be the recorded ones: the median knows neither.
    expect(rollout).toBeGreaterThan(0.5 * 40 * spent.median_rollout!);
    expect(rollout).toBeLessThan(2 * spent.rollout!);
    expect(report.verdict).toMatchObject({ bottleneck: 'host', cause: 'no_grad-time' });
  });
});
