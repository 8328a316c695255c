import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Report } from '../../src/report/report.js';
import { inFolder, root, start, whyslow } from '../helpers/cli.js';
import { simulateRun, writeRun } from '../helpers/simulate/simulate.js';
import { NoSlurm, withSlurm } from '../helpers/slurm-cluster.js';

const simulated = simulateRun({ seed: 4, ranks: 4, steps: 4, eventsPerStep: 60 });

/** Runs two tasks one after the other, as Slurm would at once. The second dies while the file `dead` is there. */
const SRUN = `#!/bin/sh
while [ "\${1#--}" != "$1" ]; do shift; done
SLURM_PROCID=0 SLURM_NTASKS=2 "$@"
[ -e dead ] && printf 'srun: error: n2: task 1: Killed\\nsrun: Force Terminated StepId=7.0\\n' >&2 && exit 137
SLURM_PROCID=1 SLURM_NTASKS=2 "$@"
`;

describe('diagnose --on slurm', () => {
  it('divides the files among the tasks of an allocation, and names what a dead task leaves', () =>
    inFolder(async (folder) => {
      writeRun(simulated, join(folder, 'run'));
      writeFileSync(join(folder, 'run/notes.md'), 'not a trace');
      writeFileSync(join(folder, 'srun'), SRUN, { mode: 0o755 });
      const env = { PATH: `${folder}:${process.env.PATH}`, SLURM_JOB_ID: '7' };
      const onSlurm = () => whyslow(['diagnose', 'run', '--on', 'slurm', '--json'], { cwd: folder, env });
      const here = await whyslow(['diagnose', join(folder, 'run'), '--json'], { cwd: folder });
      const there = await onSlurm();
      expect(there.stderr).toBe('');
      expect(there.stdout).toBe(here.stdout);

      writeFileSync(join(folder, 'dead'), '');
      const { stdout, stderr } = await onSlurm();
      expect(stderr).toContain('2 files gave no facts; trying them again');
      const report = JSON.parse(stdout) as Report;
      expect(report.ranks.map((r) => r.rank)).toEqual([0, 1, 3]);
      const lost = report.health.problems.find((p) => p.code === 'lost-file')!;
      expect(lost.message).toMatch(/rank-2\.json\.gz could not be read on the cluster: .*task 1: Killed/);
      expect(lost.consequence).toBe('nothing is known of rank 2');
    }));

  it('prints a script for sbatch outside of an allocation', () =>
    inFolder(async (folder) => {
      const paths = writeRun(simulated, join(folder, 'run'));
      const { code, stdout } = await whyslow(['diagnose', 'run', '--on', 'slurm'], { cwd: folder });
      expect(code).toBe(0);
      expect(stdout).toContain(`#SBATCH --array=0-${paths.length - 1}\n`);
      const script = join(folder, 'job.sh');
      writeFileSync(script, stdout);
      for (const i of paths.keys())
        spawnSync('sh', [script], { cwd: folder, env: { ...process.env, SLURM_ARRAY_TASK_ID: `${i}` } });
      const [, next = ''] = /When it is done: (.*)/.exec(stdout) ?? [];
      const ran = spawnSync('sh', ['-c', `${next} --json`], { cwd: folder, encoding: 'utf8' });
      expect((JSON.parse(ran.stdout) as Report).ranks).toHaveLength(paths.length);
    }));

  it('says where srun is missing', async () => {
    const env = { PATH: '/nowhere', SLURM_JOB_ID: '7' };
    const { code, stderr } = await whyslow(['diagnose', 'package.json', '--on', 'slurm'], { env });
    expect(code).toBe(2);
    expect(stderr).toContain('cannot start srun: no such file or directory; is Slurm installed here?');
  });
});

/** Ends the second task before it has read anything. NODE_OPTIONS takes it into every process of the allocation. */
const KILLER = "if (process.env.SLURM_PROCID === '1') process.kill(process.pid, 'SIGKILL');";

describe('diagnose on a real Slurm', () => {
  it('gives the report that it gives here, and names what a killed task leaves', async ({ task, skip }) => {
    const tried = withSlurm((env) =>
      inFolder(async (folder) => {
        writeRun(simulated, join(folder, 'run'));
        const program = [process.execPath, join(root, 'bin/whyslow.js')];
        const command = [...program, 'diagnose', 'run', '--on', 'slurm', '--json'];
        const onSlurm = (more = {}) =>
          start('salloc', ['--quiet', '-N2', '-n2', ...command], { cwd: folder, env: { ...env, ...more } })
            .ended;
        const here = await whyslow(['diagnose', join(folder, 'run'), '--json'], { cwd: folder });
        const there = await onSlurm();
        expect(there.stderr).toBe('');
        expect(there.stdout).toBe(here.stdout);

        const killer = join(folder, 'killer.cjs');
        writeFileSync(killer, KILLER);
        const { stdout, stderr } = await onSlurm({ NODE_OPTIONS: `--require=${killer}` });
        expect(stderr).toContain('2 files gave no facts; trying them again');
        const report = JSON.parse(stdout) as Report;
        expect(report.ranks.map((r) => r.rank)).toEqual([0, 1, 2]);
        expect(report.health.problems.find((p) => p.code === 'lost-file')!.message).toMatch(
          /rank-3\.json\.gz could not be read on the cluster: .*task 1: Killed/,
        );
      }),
    );
    await tried.catch((error: unknown) => {
      if (!(error instanceof NoSlurm)) throw error;
      task.meta.notHere = `a Slurm that starts (${error.message})`;
      skip(error.message);
    });
  });
});
