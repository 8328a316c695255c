import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Report } from '../../src/report/report.js';
import { SOAK } from '../helpers/cases.js';
import { inFolder, startOnTerminal, until, whyslow } from '../helpers/cli.js';
import { describeWithTorch, job, python } from '../helpers/python.js';

const TRAIN = job('train.py');

describeWithTorch('a job of one process', () => {
  const run = (options: readonly string[], ...command: string[]) =>
    inFolder((cwd) => whyslow(['run', '--out', 'o', ...options, '--', ...command], { cwd }));

  // Two processes with torch for all of this: importing it takes 4 s of a core.
  it('a job of one process that ignores PYTHONPATH runs as usual; one behind a shell script fails like it, after the same numbers, and is measured and traced', () =>
    inFolder(async (cwd) => {
      const args = [TRAIN, '--steps', '60', '--end', 'raise'];
      const alone = await run([], python, '-I', ...args);
      expect(alone.code).toBe(1);
      expect(alone.stderr).toContain('nothing was captured');
      expect(alone.stdout).toContain('step 50 loss');
      const failure = /^Traceback .*^RuntimeError: planted failure\n/ms.exec(alone.stderr)![0];

      const options = ['--out', 'o', '--every', '1', '--trace', '--report', 'report.json', '--no-diagnose'];
      const words = [python, ...args].map((word) => `'${word}'`).join(' ');
      const script = `echo before; ${words}; code=$?; echo after; exit $((code + 6))`;
      const ran = await whyslow(['run', ...options, '--', 'sh', '-c', script], { cwd });
      expect(ran.code).toBe(7);
      expect(ran.stderr).toContain(failure);
      expect(ran.stdout).toBe(`before\n${alone.stdout}after\n`);
      expect(ran.stderr).toContain('measured 1 rank');
      const report = JSON.parse(readFileSync(join(cwd, 'report.json'), 'utf8')) as Report;
      expect(report.inputs.map((i) => i.kind)).toEqual(expect.arrayContaining(['kineto', 'events']));
    }));

  it('a job of one process is interrupted by Ctrl-C on the terminal, and what was measured so far is diagnosed', () =>
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

  // Importing accelerate takes longer than all the rest.
  if (SOAK)
    it('a job started by accelerate is found', async () => {
      const accelerate = [python, '-m', 'accelerate.commands.launch', '--cpu', '--num_processes', '1'];
      const launched = await run([], ...accelerate, TRAIN, '--steps', '60');
      expect(launched.stderr).toContain('measured 1 rank');
      expect(launched.code).toBe(0);
    });
});
