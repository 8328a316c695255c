import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { compareSchema } from '../../schemas/compare-schema.js';
import type { CompareReport } from '../../src/compare/compare-report.js';
import { Random } from '../../src/compare/step-times/random.js';
import { inFolder, root, whyslow } from '../helpers/cli.js';

/** An event log of noisy steps around a mean. */
function writeLog(path: string, ms: number, seed: number, steps = 80, noise = 0.03): string {
  const random = new Random(seed);
  const lines = Array.from({ length: steps }, (_, step) =>
    JSON.stringify({
      name: 'training_step',
      step,
      rank: 0,
      duration_ms: ms * Math.exp(noise * random.normal()),
      clock: 'host',
    }),
  );
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}

const compared = async (...args: string[]) => {
  const { stdout, code } = await whyslow(['compare', '--json', ...args]);
  const report: unknown = JSON.parse(stdout);
  expect(compareSchema.safeParse(report).error).toBeUndefined();
  return { report: report as CompareReport, code };
};

describe('whyslow compare', () => {
  it('fails the gate only for what is certainly slower', () =>
    inFolder(async (cwd) => {
      const [a, same, slow] = [
        writeLog(join(cwd, 'a.jsonl'), 100, 1),
        writeLog(join(cwd, 'same.jsonl'), 100.5, 2),
        writeLog(join(cwd, 'slow.jsonl'), 112, 3),
      ];
      const failed = await whyslow(['compare', a, slow, '--fail-over', '5%']);
      expect(failed.code).toBe(1);
      expect(failed.stdout).toMatch(/^1\d\.\d% slower, 95% between \d+\.\d and \d+\.\d%: not noise/);
      expect(failed.stderr).toContain('exit code 1, because it is slower by more than 5%');
      expect((await whyslow(['compare', a, slow, '--fail-over', '30%'])).code).toBe(0);
      expect((await whyslow(['compare', a, same, '--fail-over', '5%'])).code).toBe(0);
      expect((await whyslow(['compare', slow, a, '--fail-over', '5%'])).code).toBe(0);
    }));

  it('takes several runs per side, folders of runs, and reports', () =>
    inFolder(async (cwd) => {
      for (const [run, ms] of [
        ['main/r1', 100],
        ['main/r2', 101],
        ['new/r1', 80],
        ['new/r2', 81],
      ] as const) {
        mkdirSync(join(cwd, run), { recursive: true });
        writeFileSync(join(cwd, run, 'run.json'), '{"whyslow": 1, "run": null}');
        writeLog(join(cwd, run, 'events.jsonl'), ms, ms);
      }
      const folders = await compared(join(cwd, 'main'), join(cwd, 'new'));
      expect(folders.code).toBe(0);
      expect(folders.report.verdict).toBe('faster');
      expect(folders.report.before.runs).toHaveLength(2);
      expect(folders.report.step.speedup.likely).toBeCloseTo(1.25, 1);
      const { stdout } = await whyslow(['diagnose', '--json', join(cwd, 'new/r1')]);
      writeFileSync(join(cwd, 'new.json'), stdout);
      const named = await compared(
        ...['--before', join(cwd, 'main/r1'), join(cwd, 'main/r2')],
        ...['--after', join(cwd, 'new.json')],
      );
      expect(named.report.verdict).toBe('faster');
      expect(named.report.after.runs[0]!.steps).toBeGreaterThan(50);
    }));

  it('compare exits with 3 if the runs do not settle it, and says what to record', () =>
    inFolder(async (cwd) => {
      const few = (name: string, ms: number, seed: number) => writeLog(join(cwd, name), ms, seed, 12, 0.2);
      const { report, code } = await compared(few('a.jsonl', 100, 5), few('b.jsonl', 103, 6));
      expect(code).toBe(3);
      expect(report).toMatchObject({ schema: 'whyslow/compare/1', verdict: 'cannot-tell' });
      expect(report.sentence).toMatch(/inconclusive; record \d+ more steps on each side/);
    }));

  it('finds the planted fault of a pair of the zoo, with size and prediction', async () => {
    const zoo = (name: string) => join(root, 'zoo/fixtures', name);
    const { report } = await compared(zoo('fp32_no_tf32'), zoo('fp32_tf32'));
    expect(report.verdict).toBe('faster');
    // Measured without a profiler: ×3.97.
    expect(report.step.speedup.low).toBeLessThan(3.97);
    expect(report.step.speedup.high).toBeGreaterThan(3.97);
    expect(report.kernels.some((k) => k.change === 'gone' && k.shape !== null)).toBe(true);
    expect(report.findings.predicted.map((p) => p.rule)).toContain('T9');
    expect(report.notes.join()).toContain('estimated from a trace');
  });

  it.each([
    ['one side', ['a'], 'whyslow compare BEFORE AFTER'],
    ['no such file', ['no-such-a', 'no-such-b'], 'no-such-a'],
    ['no percentage', ['a', 'b', '--fail-over', 'much'], 'a percentage such as'],
  ])('%s: exit 2 with what was wrong', async (_, args, reason) => {
    const { code, stderr, stdout } = await whyslow(['compare', ...args]);
    expect(code).toBe(2);
    expect(stderr).toContain(reason);
    expect(stdout).toBe('');
  });
});

describe('whyslow compare --history', () => {
  it('compares with the good runs before, appends, and survives a torn line', () =>
    inFolder(async (cwd) => {
      const history = join(cwd, 'perf.jsonl');
      const add = (ms: number, seed: number, ...more: string[]) =>
        whyslow(['compare', writeLog(join(cwd, `${seed}.jsonl`), ms, seed), '--history', history, ...more]);
      const first = await add(100, 1, '--json', '--html', join(cwd, 'a.html'));
      expect(compareSchema.parse(JSON.parse(first.stdout)).sentence).toContain('had no run to compare with');
      expect(first.stderr).toContain('a.html was not written: there is nothing to compare yet');
      expect((await add(100.3, 2)).code).toBeLessThanOrEqual(3);
      appendFileSync(history, '{"schema":"whyslow/his');
      const slow = await add(115, 3, '--fail-over', '5%');
      expect(slow.code).toBe(1);
      expect(slow.stderr).toContain('1 lines are no runs');
      // A slow run is kept, but later runs are not compared with it.
      const next = await add(100.1, 4, '--markdown');
      expect(next.stdout).toContain('compared with the last 2 good of 3 runs');
      const lines = readFileSync(history, 'utf8').trimEnd().split('\n');
      expect(lines).toHaveLength(5);
      expect(lines.filter((line) => line.endsWith('}'))).toHaveLength(4);
    }));

  it('keeps every line when many processes append at once', () =>
    inFolder(async (cwd) => {
      const history = join(cwd, 'perf.jsonl');
      const log = writeLog(join(cwd, 'a.jsonl'), 50, 1);
      await Promise.all(Array.from({ length: 6 }, () => whyslow(['compare', log, '--history', history])));
      const lines = readFileSync(history, 'utf8').trimEnd().split('\n');
      expect(lines).toHaveLength(6);
      for (const line of lines) expect(JSON.parse(line)).toMatchObject({ schema: 'whyslow/history/1' });
    }));
});
