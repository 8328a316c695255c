import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { inFolder, root, type Started, start, startOnTerminal, until, whyslow } from '../helpers/cli.js';
import { DMON_ROWS, fakeNvidiaSmi, install, withPath } from '../helpers/fake-nvidia-smi.js';
import { describeWithTorch, job, python } from '../helpers/python.js';

/** Forks the jobs. */
let server: Started | null = null;
const jobs = new Set<number>();
let running: number[] = [];

const isThere = (pid: number) => existsSync(`/proc/${pid}`);

/** Starts a job and waits until it trains. */
async function training(kind: string): Promise<number> {
  server ??= start(python, [job('triage_job.py')]);
  const { child, said } = server;
  child.stdin.write(`${kind}\n`);
  let pid: number | undefined;
  const isTraining = () => {
    const pids = Array.from(said.stdout.matchAll(/^(\d+) step$/gm), ([, text]) => Number(text));
    pid = pids.find((one) => !jobs.has(one) && isThere(one));
    return pid !== undefined;
  };
  await until(isTraining, `the job ${kind} trains`);
  jobs.add(pid!);
  running.push(pid!);
  return pid!;
}

async function kill(pid: number): Promise<void> {
  if (isThere(pid)) process.kill(pid, 'SIGKILL');
  await until(() => !isThere(pid), 'its end');
}

afterEach(async () => {
  for (const pid of running) await kill(pid);
  running = [];
});
afterAll(() => {
  server?.child.kill('SIGKILL');
});

const triage = async (pid: number, more: readonly string[] = [], env = {}, seconds = 2) => {
  const args = ['triage', '--pid', `${pid}`, '--seconds', `${seconds}`, '--json', ...more];
  const ran = await whyslow(args, { env });
  const report = JSON.parse(ran.stdout || 'null');
  return { ...ran, report, answer: report && `${report.verdict.bottleneck}/${report.verdict.cause}` };
};

/** On a busy machine a job may not get a core for two seconds: what it does then shows in a longer time. */
async function patientTriage(expected: string, pid: number, more: readonly string[] = [], env = {}) {
  for (const seconds of [2, 6]) {
    const told = await triage(pid, more, env, seconds);
    if (told.answer === expected) return told;
  }
  const told = await triage(pid, more, env, 20);
  expect(told.answer).toBe(expected);
  return told;
}

describeWithTorch('whyslow triage on real jobs', () => {
  it('names transforms: a pegged worker while the GPU starves', () =>
    inFolder(async (folder) => {
      const pid = await training('transforms');
      await fakeNvidiaSmi(folder, pid, DMON_ROWS.starving);
      const out = join(folder, 'samples.jsonl');
      const told = await patientTriage('data/data-cpu', pid, ['--out', out], withPath(folder));
      const { report, code } = told;
      expect(code).toBe(0);
      expect(report.schema).toBe('whyslow/triage/1');
      expect(report.gpus).toMatchObject([{ index: 0, name: 'NVIDIA H200', power_limit_w: 700 }]);
      expect(report.processes.map((p: { role: string }) => p.role)).toEqual(['trainer', 'worker']);

      const header = JSON.parse(readFileSync(out, 'utf8').split('\n')[0]!);
      expect(header).toMatchObject({ whyslow: 1, kind: 'proc-samples' });
      const again = await whyslow(['triage', '--replay', out, '--json']);
      const { next, notes, ...same } = JSON.parse(again.stdout);
      expect(report).toMatchObject(same);
      // The process may be gone.
      expect(next.join()).not.toContain('--pid');
      expect(notes[0]).toMatch(/^these are samples of .*: run the commands there, while the job runs$/);
    }));

  it('names reading: workers that wait for a slow store', async () => {
    const { report } = await patientTriage('data/data-io', await training('reading'));
    expect(report.evidence.join()).toMatch(/reads .*\/s/);
  });

  it('triage distinguishes loading on the training thread from a busy GPU by nvidia-smi', () =>
    inFolder(async (folder) => {
      const pid = await training('loading');
      await fakeNvidiaSmi(folder, pid, DMON_ROWS.starving);
      await patientTriage('data/data-cpu', pid, [], withPath(folder));
      await fakeNvidiaSmi(folder, pid, DMON_ROWS.gpuBound);
      await patientTriage('gpu/gpu-bound', pid, [], withPath(folder));
    }));

  it('names too many threads, by CPU quota where a cgroup can be made', async () => {
    const pid = await training('threads');
    const cgroup = limitCpus(pid);
    try {
      const { report } = await patientTriage('compute/threads', pid);
      expect(report.verdict.sentence).toContain(cgroup ? 'CPUs by cgroup quota' : 'for 1 CPU');
      expect(report.next[0]).toMatch(/^OMP_NUM_THREADS=1 /);
    } finally {
      await kill(pid);
      if (cgroup) rmdirSync(cgroup);
    }
  });

  it('says that a job is idle, and shows a live line meanwhile', async () => {
    const pid = await training('idle');
    const shown = startOnTerminal(['triage', '--pid', `${pid}`, '--seconds', '2']);
    const { stdout, code } = await shown.ended;
    expect(stdout).toMatch(/\d s: GPU .*training thread 0% of a core/);
    expect(stdout).toContain('Both idle');
    expect(stdout).toContain(`$ whyslow triage --stacks --pid ${pid}`);
    expect(code).toBe(3);
  });

  it('goes on when nvidia-smi prints rubbish, and when the job ends', () =>
    inFolder(async (folder) => {
      const pid = await training('compute');
      const asked = join(folder, 'asked');
      await install(folder, `head -c 5000 /dev/urandom; : > ${asked}`);
      const told = triage(pid, [], withPath(folder), 3);
      await until(() => existsSync(asked), 'triage watches');
      await sleep(1500);
      await kill(pid);
      const { report, code } = await told;
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
      const { child, said } = start(python, [job('missing_rank.py'), join(folder, 'store')]);
      running.push(child.pid!);
      await until(() => (said.stdout.match(/ready/g) ?? []).length === 4, 'all ranks are ready');
      const { report, answer } = await triage(child.pid!, ['--stacks']);
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
