import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import type { Report } from '../../src/report/report.js';
import { inFolder, type Ran, start, startOnTerminal, until, whyslow } from '../helpers/cli.js';
import { describeWithTorch, job, python } from '../helpers/python.js';

const TRAIN = job('train.py');
const torchrun = (ranks: number, ...args: string[]) => [
  ...[python, '-m', 'torch.distributed.run', '--standalone', '--nproc-per-node', `${ranks}`],
  ...args,
];

interface Measured extends Ran {
  readonly report: Report;
}

/** Four gloo ranks through `whyslow run`, nothing else. */
function measured(...args: string[]): Promise<Measured> {
  return inFolder(async (cwd) => {
    const command = ['run', '--out', 'o', '--report', 'report.json', '--', ...torchrun(4, TRAIN, ...args)];
    const ran = await whyslow(command, { cwd });
    if (ran.code !== 0) throw new Error(`exit ${ran.code}\n${ran.stdout}\n${ran.stderr}`);
    return { ...ran, report: JSON.parse(readFileSync(join(cwd, 'report.json'), 'utf8')) as Report };
  });
}

/** Steps in which one was late for real may be named, too, and that it is another one each time: a busy machine has them. */
const withoutSpikes = ({ stragglers }: Report) =>
  stragglers.filter((s) => s.pattern !== 'spike' && s.pattern !== 'rotating');

describeWithTorch('four ranks under torchrun', () => {
  let healthy: Measured;
  beforeAll(async () => {
    healthy = await measured();
  });

  it('healthy: every rank is there, none is late, and it is not the data', () => {
    expect(healthy.report.ranks.map((r) => r.rank)).toEqual([0, 1, 2, 3]);
    expect(withoutSpikes(healthy.report)).toEqual([]);
    expect(healthy.report.verdict.bottleneck).not.toBe('data');
  });

  it('shows its own output first, then the diagnosis', () => {
    const lines = healthy.stdout.split('\n');
    expect(lines[0]).toMatch(/^step 0 loss/);
    const last = lines.findLastIndex((line) => line.startsWith('step ') && line.includes('loss'));
    expect(lines.slice(last + 1).join('\n')).toContain(healthy.report.verdict.sentence.split(' ')[0]!);
    expect(healthy.stderr).toContain('4 ranks measured');
  });

  it('one rank that sleeps is named, with the host as the cause', async () => {
    const { report } = await measured('--steps', '80', '--late-rank', '2', '--late-ms', '200');
    const late = withoutSpikes(report);
    expect(late).toMatchObject([{ ranks: [2], pattern: 'persistent', cause: 'host' }]);
    // On a machine with ten times the work it can do the others come tens of ms late as well.
    expect(late[0]!.cost_ms).toBeGreaterThan(100);
    expect(late[0]!.cost_ms).toBeLessThan(300);
    expect(report.verdict.bottleneck).toBe('host');
  });

  it('a slow dataset is the bottleneck, on all ranks', async () => {
    const { report } = await measured('--data-ms', '80');
    expect(report.verdict.bottleneck).toBe('data');
    expect(report.findings.map((f) => f.rule)).toContain('T4');
    expect(withoutSpikes(report)).toEqual([]);
  });
});

describeWithTorch('one process', () => {
  const run = (options: readonly string[], ...command: string[]) =>
    inFolder((cwd) => whyslow(['run', '--out', 'o', ...options, '--', ...command], { cwd }));

  it('fails as it would by itself, after training to the same numbers', async () => {
    const args = [TRAIN, '--steps', '60', '--end', 'raise'];
    const alone = await start(python, args).ended;
    const ran = await run(['--every', '1'], python, ...args);
    expect(alone.stderr).toContain('RuntimeError: planted failure');
    expect(alone.stdout).toContain('step 50 loss');
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain(alone.stderr);
    expect(ran.stdout.startsWith(alone.stdout)).toBe(true);
    expect(ran.stderr).toContain('1 rank measured');
  });

  it('is interrupted by Ctrl-C on the terminal, and what was measured is still diagnosed', () =>
    inFolder(async (cwd) => {
      const terminal = startOnTerminal(['run', '--out', 'o', '--', python, TRAIN, '--steps', '100000'], {
        cwd,
      });
      await until(() => terminal.said.stdout.includes('step 50 loss'), 'training');
      terminal.child.stdin.write('\x03');
      const { stdout, code } = await terminal.ended;
      expect(stdout).toContain('KeyboardInterrupt');
      expect(stdout).toContain('1 rank measured');
      expect(code).toBe(130);
    }));

  it('is found behind a shell script and behind accelerate', async () => {
    const script = await run(
      [],
      'sh',
      '-c',
      `echo before; '${python}' '${TRAIN}' --steps 60; echo after; exit 9`,
    );
    expect(script.code).toBe(9);
    expect(script.stdout).toMatch(/^before\nstep 0/);
    expect(script.stderr).toContain('1 rank measured');
    const accelerate = [python, '-m', 'accelerate.commands.launch', '--cpu', '--num_processes', '1'];
    const launched = await run([], ...accelerate, TRAIN, '--steps', '60');
    expect(launched.stderr).toContain('1 rank measured');
    expect(launched.code).toBe(0);
  });

  it('that shuts us out is said to have been missed', async () => {
    const ran = await run([], python, '-I', TRAIN, '--steps', '20');
    expect(ran.stdout).toContain('step 10 loss');
    expect(ran.stderr).toContain('nothing was captured');
    expect(ran.code).toBe(0);
  });

  it('with --trace leaves a trace, which the diagnosis has read; its exit code is its own', () =>
    inFolder(async (cwd) => {
      const options = ['--out', 'o', '--trace', '--report', 'report.json', '--no-diagnose'];
      const command = [python, TRAIN, '--steps', '60', '--end', 'exit-3'];
      const ran = await whyslow(['run', ...options, '--', ...command], { cwd });
      expect(ran.code).toBe(3);
      expect(ran.stdout.trim().split('\n').at(-1)).toMatch(/^step 50/);
      const report = JSON.parse(readFileSync(join(cwd, 'report.json'), 'utf8')) as Report;
      expect(report.inputs.map((i) => i.kind)).toEqual(expect.arrayContaining(['kineto', 'events']));
    }));
});
