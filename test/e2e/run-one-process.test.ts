import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Report } from '../../src/report/report.js';
import { inFolder, start, startOnTerminal, until, whyslow } from '../helpers/cli.js';
import { describeWithTorch, job, python } from '../helpers/python.js';

const TRAIN = job('train.py');

describeWithTorch('a job of one process', () => {
  const run = (options: readonly string[], ...command: string[]) =>
    inFolder((cwd) => whyslow(['run', '--out', 'o', ...options, '--', ...command], { cwd }));

  it('fails as it would without us, after training to the same numbers', async () => {
    const args = [TRAIN, '--steps', '60', '--end', 'raise'];
    const alone = await start(python, args).ended;
    const ran = await run(['--every', '1'], python, ...args);
    expect(alone.stderr).toContain('RuntimeError: planted failure');
    expect(alone.stdout).toContain('step 50 loss');
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain(alone.stderr);
    expect(ran.stdout).toBe(alone.stdout);
    expect(ran.stderr).toContain('measured 1 rank');
  });

  it('is interrupted by Ctrl-C on the terminal, and what was measured so far is diagnosed', () =>
    inFolder(async (cwd) => {
      const terminal = startOnTerminal(['run', '--out', 'o', '--', python, TRAIN, '--steps', '100000'], {
        cwd,
      });
      await until(() => terminal.said.stdout.includes('step 50 loss'), 'training');
      terminal.child.stdin.write('\x03');
      const { stdout, code } = await terminal.ended;
      expect(stdout).toContain('KeyboardInterrupt');
      expect(stdout).toContain('measured 1 rank');
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
    expect(script.stderr).toContain('measured 1 rank');
    const accelerate = [python, '-m', 'accelerate.commands.launch', '--cpu', '--num_processes', '1'];
    const launched = await run([], ...accelerate, TRAIN, '--steps', '60');
    expect(launched.stderr).toContain('measured 1 rank');
    expect(launched.code).toBe(0);
  });

  it('that ignores PYTHONPATH runs as usual, and we say that nothing was captured', async () => {
    const ran = await run([], python, '-I', TRAIN, '--steps', '20');
    expect(ran.stdout).toContain('step 10 loss');
    expect(ran.stderr).toContain('nothing was captured');
    expect(ran.code).toBe(0);
  });

  it('with --trace leaves a trace that the diagnosis reads, and keeps its exit code', () =>
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
