import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { InspectReport } from '../../src/report/inspect-report.js';
import { inFolder, root, start, until, whyslow } from '../helpers/cli.js';
import { describeWithTorch, job, python } from '../helpers/python.js';

/** Loading leaves the processor to other tests: steps themselves take a few ms. */
const ENDLESS = ['--steps', '100000', '--data-ms', '40'];

describeWithTorch('whyslow capture with a running job', () => {
  it('gets a trace of the same steps from both ranks, and the job goes on', () =>
    inFolder(async (cwd) => {
      const command = [python, '-m', 'torch.distributed.run', '--standalone', '--nproc-per-node', '2'];
      const program = join(root, 'bin/whyslow.js');
      const args = ['run', '--out', 'o', '--', ...command, job('train.py'), ...ENDLESS];
      const running = start(process.execPath, [program, ...args], { cwd });
      try {
        await until(() => existsSync(join(cwd, 'o/ranks/rank_1.json')), 'the first step');
        const ask = () => whyslow(['capture', 'o', '--steps', '2', '--ranks', '0,1', '--json'], { cwd });
        let asked = await ask();
        // If the job suddenly speeds up, it passes the planned step before all ranks have seen the plan.
        for (let i = 0; i < 3 && asked.stdout.includes('"missed"'); i++) asked = await ask();
        expect(asked).toMatchObject({ code: 0, stderr: '' });
        const answer = JSON.parse(asked.stdout) as {
          first_step: number;
          ranks: { rank: number; status: string; path: string; first_step: number; last_step: number }[];
        };
        expect(answer.ranks.map((r) => [r.rank, r.status])).toEqual([
          [0, 'done'],
          [1, 'done'],
        ]);
        for (const { path, first_step, last_step } of answer.ranks) {
          expect([first_step, last_step]).toEqual([answer.first_step, answer.first_step + 1]);
          const read = await whyslow(['inspect', path, '--json']);
          const report = JSON.parse(read.stdout) as InspectReport;
          expect(report.inputs[0]!.steps.map((s) => s.index)).toEqual([first_step, last_step]);
        }
        expect(readdirSync(join(cwd, 'o/control'))).toEqual([]);
        const before = running.said.stdout;
        await until(() => running.said.stdout.length > before.length + 50, 'further steps');
        const again = await whyslow(['capture', 'o', '--steps', '1'], { cwd });
        expect(again.stdout).toMatch(/^o\/traces\/step_\d+\/rank-0-.*-trace\.json\.gz\n$/);
      } finally {
        running.child.kill('SIGINT');
      }
      await running.ended;
      const after = await whyslow(['capture', 'o'], { cwd });
      expect(after).toMatchObject({ code: 2, stdout: '' });
      expect(after.stderr).toContain('has ended; to diagnose it');
    }));
});
