import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { inFolder, root, type Started, start, startOnTerminal, until, whyslow } from '../helpers/cli.js';
import { DMON_ROWS, fakeNvidiaSmi, install, withPath } from '../helpers/fake-nvidia-smi.js';
import { describeWithTorch, job, python } from '../helpers/python.js';

const started: Started[] = [];

/** Starts a job and waits until it trains. */
async function training(kind: string): Promise<number> {
  const running = start(python, [job('triage_job.py'), kind]);
  started.push(running);
  await until(() => running.said.stdout.includes('step'), `the job ${kind} trains`);
  return running.child.pid!;
}

afterEach(async () => {
  for (const { child, ended } of started.splice(0)) {
    child.kill('SIGKILL');
    await ended;
  }
});

const triage = async (pid: number, more: readonly string[] = [], env = {}) => {
  const ran = await whyslow(['triage', '--pid', `${pid}`, '--seconds', '2', '--json', ...more], { env });
  const report = JSON.parse(ran.stdout || 'null');
  return { ...ran, report, answer: report && `${report.verdict.bottleneck}/${report.verdict.cause}` };
};

describeWithTorch('whyslow triage on real jobs', () => {
  it('names transforms: a pegged worker while the GPU starves', () =>
    inFolder(async (folder) => {
      const pid = await training('transforms');
      await fakeNvidiaSmi(folder, pid, DMON_ROWS.starving);
      const out = join(folder, 'samples.jsonl');
      const { report, answer, code } = await triage(pid, ['--out', out], withPath(folder));
      expect(answer).toBe('data/data-cpu');
      expect(code).toBe(0);
      expect(report.schema).toBe('whyslow/triage/1');
      expect(report.gpus).toMatchObject([{ index: 0, name: 'NVIDIA H200', power_limit_w: 700 }]);
      expect(report.processes.map((p: { role: string }) => p.role)).toEqual(['trainer', 'worker']);

      const header = JSON.parse(readFileSync(out, 'utf8').split('\n')[0]!);
      expect(header).toMatchObject({ whyslow: 1, kind: 'proc-samples' });
      const again = await whyslow(['triage', '--replay', out, '--json']);
      expect(JSON.parse(again.stdout)).toEqual(report);
    }));

  it('names reading: workers that wait for a slow store', async () => {
    const { answer, report } = await triage(await training('reading'));
    expect(answer).toBe('data/data-io');
    expect(report.evidence.join()).toMatch(/reads .*\/s/);
  });

  it('tells loading on the training thread from a busy GPU, by what nvidia-smi says', () =>
    inFolder(async (folder) => {
      const pid = await training('loading');
      await fakeNvidiaSmi(folder, pid, DMON_ROWS.starving);
      expect((await triage(pid, [], withPath(folder))).answer).toBe('data/data-cpu');
      await fakeNvidiaSmi(folder, pid, DMON_ROWS.gpuBound);
      expect((await triage(pid, [], withPath(folder))).answer).toBe('gpu/gpu-bound');
    }));

  it('names too many threads, by CPU quota where a cgroup can be made', async () => {
    const pid = await training('threads');
    const cgroup = limitCpus(pid);
    try {
      const { answer, report } = await triage(pid);
      expect(answer).toBe('compute/threads');
      expect(report.verdict.sentence).toContain(cgroup ? 'CPUs by cgroup quota' : 'for 1 CPU');
      expect(report.next[0]).toMatch(/^OMP_NUM_THREADS=1 /);
    } finally {
      started[0]!.child.kill('SIGKILL');
      await started[0]!.ended;
      if (cgroup) rmdirSync(cgroup);
    }
  });

  it('says that a job is idle, and shows a live line meanwhile', async () => {
    const pid = await training('idle');
    const shown = startOnTerminal(['triage', '--pid', `${pid}`, '--seconds', '2']);
    const { stdout, code } = await shown.ended;
    expect(stdout).toMatch(/\d s: GPU .*training thread 0 % of a core/);
    expect(stdout).toContain('Both idle');
    expect(stdout).toContain(`$ whyslow triage --stacks --pid ${pid}`);
    expect(code).toBe(3);
  });

  it('goes on when nvidia-smi prints rubbish, and when the job ends', () =>
    inFolder(async (folder) => {
      const pid = await training('compute');
      await install(folder, 'head -c 5000 /dev/urandom');
      setTimeout(() => started[0]!.child.kill('SIGKILL'), 1800);
      const { report, code } = await triage(pid, [], withPath(folder));
      expect(code).toBe(0);
      expect(report.verdict.bottleneck).toBe('compute');
      expect(report.notes).toContain('the job ended while it was watched');
    }));
});

/** A cgroup with half a CPU for the process; null where that is not allowed. */
function limitCpus(pid: number): string | null {
  for (const [parent, quota] of [
    ['/sys/fs/cgroup/cpu', ['cpu.cfs_quota_us', '50000']],
    ['/sys/fs/cgroup', ['cpu.max', '50000 100000']],
  ] as const) {
    const folder = join(parent, `whyslow-test-${pid}`);
    try {
      mkdirSync(folder);
      writeFileSync(join(folder, quota[0]), quota[1]);
      writeFileSync(join(folder, 'cgroup.procs'), `${pid}`);
      return folder;
    } catch {
      if (existsSync(folder)) rmdirSync(folder);
    }
  }
  return null;
}

const pySpy = [join(root, '.venv/bin'), ...(process.env.PATH ?? '').split(':')].some((f) =>
  existsSync(join(f, 'py-spy')),
);
if (!pySpy)
  console.log('skipped without py-spy (npm test installs it into .venv): stacks of a job that hangs');

describe.skipIf(!pySpy || !existsSync(python))('whyslow triage --stacks', () => {
  it('names the rank that is missing in the collective', () =>
    inFolder(async (folder) => {
      const running = start(python, [job('missing_rank.py'), join(folder, 'store')]);
      started.push(running);
      await until(() => (running.said.stdout.match(/ready/g) ?? []).length === 4, 'all ranks are ready');
      const { report, answer } = await triage(running.child.pid!, ['--stacks']);
      if (report.stacks.length === 0) {
        // A sandbox may forbid to look into other processes. Then that is what it says.
        expect(report.notes.join()).toContain('py-spy may not look into process');
        return;
      }
      expect(answer).toBe('comms/rank-missing');
      expect(report.verdict.sentence).toMatch(
        /^Hung: 3 of 4 ranks wait in all_reduce; process \d+ is in lost_in_checkpoint \(jobs\/missing_rank\.py:\d+\)$/,
      );
    }));
});

describe('whyslow triage with bad input', () => {
  it.each([
    [['--pid', '99999999'], 'there is no process 99999999'],
    [['--pid', 'x'], 'whole number'],
    [['--seconds', '0'], 'whole number'],
    [['--replay', '/no/such/file'], 'no such file'],
    [['--replay', join(root, 'package.json')], 'not a recording'],
  ])('%j: one sentence and exit code 2', async (args, message) => {
    const ran = await whyslow(['triage', ...args]);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain(message);
    expect(ran.stderr).not.toMatch(/\bat .*\.js/);
  });

  it('a process that does not train: exit code 3, also where nvidia-smi fails', () =>
    inFolder(async (folder) => {
      await install(
        folder,
        'echo "NVIDIA-SMI has failed because it could not communicate with the driver"; exit 9',
      );
      const sleeper = start('sleep', ['60']);
      started.push(sleeper);
      const args = ['triage', '--pid', `${sleeper.child.pid}`, '--seconds', '1'];
      const ran = await whyslow(args, { env: withPath(folder) });
      expect(ran.code).toBe(3);
      expect(ran.stdout).toContain('Not training');
    }));

  it('a file that cannot be written: the verdict, the reason and exit code 2', async () => {
    const sleeper = start('sleep', ['60']);
    started.push(sleeper);
    const ran = await whyslow([
      'triage',
      '--pid',
      `${sleeper.child.pid}`,
      '--seconds',
      '1',
      '--out',
      '/no/such/folder/x',
    ]);
    expect(ran.stdout).toContain('Not training');
    expect(ran.stderr).toContain('cannot write /no/such/folder/x: no such file or directory');
    expect(ran.code).toBe(2);
  });
});
