import { describe, expect, it } from 'vitest';
import { DMON, type DrawnJob, type DrawnProcess, drawJob, table } from '../../test/helpers/triage.js';
import { triage } from '../report/triage-report.js';

const judge = (job: DrawnJob) => triage(drawJob(job));
const verdictOf = (job: DrawnJob) => {
  const { bottleneck, cause } = judge(job).verdict;
  return `${bottleneck}/${cause}`;
};
const worker = (pid: number, more: Partial<DrawnProcess> = {}): DrawnProcess => ({
  pid,
  parent: 100,
  name: 'pt_data_worker',
  ...more,
});
const trainer: DrawnProcess = { pid: 100, main: 0.05, waits: 'poll_schedule_timeout' };
const pegged: DrawnProcess = { pid: 100, main: 0.99 };
const launches: DrawnProcess = { pid: 100, main: 0.6, threads: [['pt_autograd_0', 0.35]] };

describe('triage of a GPU job', () => {
  it.each<[string, string, DrawnJob]>([
    ['gpu/gpu-bound', 'a busy GPU', { processes: [pegged], gpuText: DMON.gpuBound }],
    [
      'data/data-cpu',
      'pegged workers',
      {
        processes: [trainer, worker(200, { main: 0.97 }), worker(300, { main: 0.95 })],
        gpuText: DMON.dataIo,
      },
    ],
    [
      'data/data-cpu',
      'workers that want a CPU and do not get one',
      { processes: [trainer, worker(200, { main: 0.5, delayed: 0.48 })], gpuText: DMON.dataIo },
    ],
    [
      'data/data-io',
      'workers in state D',
      { processes: [trainer, worker(200, { main: 0.1, waits: 'D' })], gpuText: DMON.dataIo },
    ],
    [
      'data/data-io',
      'workers that wait for a socket',
      { processes: [trainer, worker(200, { main: 0.1, waits: 'sk_wait_data' })], gpuText: DMON.dataIo },
    ],
    [
      'data/data-cpu',
      'loading on the training thread',
      { processes: [{ pid: 100, main: 0.98, threads: [['pt_autograd_0', 0.02]] }], gpuText: DMON.dataCpu },
    ],
    [
      'data/data-io',
      'reading on the training thread',
      { processes: [{ pid: 100, main: 0.15, waits: 'hrtimer_nanosleep', reads: 9e7 }], gpuText: DMON.dataIo },
    ],
    ['host/launch', 'launches', { processes: [launches], gpuText: DMON.launch }],
    [
      'host/launch',
      'launches while workers wait for work',
      { processes: [launches, worker(200, { waits: 'poll_schedule_timeout' })], gpuText: DMON.launch },
    ],
    [
      'data/workers-restarted',
      'workers of short epochs, some of them seen once',
      {
        processes: [
          trainer,
          ...[0, 2, 4, 6, 8].map((s) => worker(200 + 10 * s, { main: 0.6, lives: [s, s + 1.2] })),
          ...[1, 3, 5].map((s) => worker(300 + 10 * s, { lives: [s + 0.5, s + 0.5] })),
        ],
        gpuText: DMON.dataIo,
      },
    ],
    [
      'host/compile',
      'compilers at work',
      {
        processes: [
          trainer,
          { pid: 200, parent: 100, command: '/usr/bin/ptxas -o x', torch: false, main: 0.9 },
        ],
        gpuText: DMON.dataIo,
      },
    ],
    [
      'unknown/idle',
      'nothing at all',
      { processes: [{ pid: 100, waits: 'futex_do_wait' }], gpuText: DMON.dataCpu },
    ],
    [
      'unknown/idle',
      'a loop and workers that all wait for a message',
      {
        processes: [{ ...trainer, main: 0.01 }, worker(200, { waits: 'poll_schedule_timeout' })],
        gpuText: DMON.dataCpu,
      },
    ],
  ])('%s: %s', (expected, _, job) => {
    expect(verdictOf(job)).toBe(expected);
  });

  it('calls out heat, a low clock, and little power behind “100%”', () => {
    const of = (line: string) => judge({ processes: [pegged], gpuText: table(...Array(4).fill(line)) });
    expect(of('0 310 88 80 100 40 3201 1050 0 1').verdict).toMatchObject({
      bottleneck: 'gpu',
      cause: 'throttle',
      sentence: 'GPU-bound and throttled: heat holds the clock at 1,050 of 1,980 MHz',
    });
    expect(of('0 310 60 55 100 40 3201 1200 0 0').verdict.cause).toBe('throttle');
    expect(of('0 210 50 45 100 5 3201 1980 0 0').verdict).toMatchObject({
      bottleneck: 'unknown',
      cause: 'starved',
      sentence: '“100% busy” misleads: the GPU draws only 210 of 700 W, so it does little',
    });
    // At its power limit, at the usual clock: that is what a busy GPU looks like.
    expect(of('0 695 61 52 100 46 3201 1830 100 0').verdict.cause).toBe('gpu-bound');
  });

  it('takes the GPUs of the job where they are known', () => {
    const idle = Array(4).fill('0 80 30 30 0 0 3201 1980 0 0');
    const busy = Array(4).fill('1 690 60 50 99 40 3201 1900 0 0');
    const gpuText = table(...idle, ...busy);
    expect(verdictOf({ processes: [pegged], gpuText, gpus: [1] })).toBe('gpu/gpu-bound');
    expect(verdictOf({ processes: [{ pid: 100 }], gpuText, gpus: [0] })).toBe('unknown/idle');
  });

  it('is less sure without nvidia-smi, and says why', () => {
    const processes = [trainer, worker(200, { main: 0.97 })];
    const blind = judge({ processes });
    const seeing = judge({ processes, gpuText: DMON.dataIo });
    expect(blind.verdict.cause).toBe('data-cpu');
    expect(blind.verdict.confidence).toBeLessThan(seeing.verdict.confidence);
    expect(blind.evidence[0]).toBe('GPU not measured: there is no nvidia-smi or rocm-smi on PATH');
  });

  it.each([
    ['binary', '\u0000\u0001\u00ff#gpu\u0000sm'],
    ['empty', ''],
    ['an error message', 'Failed to initialize NVML: Driver/library version mismatch\n'],
    ['a header only', '# gpu   sm\n# Idx    %\n'],
  ])('survives %s instead of dmon', (_, gpuText) => {
    const report = judge({ processes: [trainer, worker(200, { main: 0.97 })], gpuText });
    expect(report.verdict.cause).toBe('data-cpu');
    expect(report.gpus).toEqual([]);
  });
});

describe('triage of a machine', () => {
  const crowd: DrawnProcess = {
    pid: 100,
    main: 0.1,
    delayed: 0.8,
    threads: Array.from({ length: 31 }, () => ['python', 0.1, 0.8] as const),
  };

  it('names more threads than CPUs, and the number to set', () => {
    const report = judge({
      processes: [crowd],
      cores: 64,
      quota: 4,
      counters: { periods: 10, throttledPeriods: 6 },
      gpuText: DMON.dataIo,
    });
    expect(report.verdict).toMatchObject({ bottleneck: 'host', cause: 'threads' });
    expect(report.verdict.sentence).toBe(
      'Too many threads: 32 threads compete for 4 CPUs by cgroup quota, of 64',
    );
    expect(report.evidence).toContain('the quota runs out in 60% of its periods');
    expect(report.next[0]).toBe('OMP_NUM_THREADS=4 python train.py');
  });

  it('does not call threads too many where there are CPUs for them', () => {
    const fine = {
      ...crowd,
      main: 0.95,
      delayed: 0,
      threads: crowd.threads!.map(() => ['python', 0.9, 0.01] as const),
    };
    expect(verdictOf({ processes: [{ ...fine, gpu: false }], cores: 64 })).toBe('compute/compute');
  });

  it('blames other programs for CPUs that one thread does not get', () => {
    const report = judge({ processes: [{ pid: 100, gpu: false, main: 0.3, delayed: 0.65 }], cores: 2 });
    expect(report.verdict.cause).toBe('compute');
    expect(report.notes.join()).toContain('other programs use');
  });

  it('names threads of workers', () => {
    const workers = [200, 300].map((pid) =>
      worker(pid, {
        main: 0.2,
        delayed: 0.7,
        threads: Array.from({ length: 15 }, () => ['python', 0.1, 0.8] as const),
      }),
    );
    const report = judge({ processes: [trainer, ...workers], cores: 8, gpuText: DMON.dataIo });
    expect(report.verdict.cause).toBe('threads');
    expect(report.advice).toContain('cv2.setNumThreads(0)');
  });

  it.each([
    ['stalls', { memoryPressure: 0.3 }],
    ['swapping', { swappedIn: 5e7 }],
  ])('names memory by %s', (_, counters) => {
    expect(verdictOf({ processes: [pegged], counters, gpuText: DMON.dataIo })).toBe('host/memory');
  });

  it('says that nothing trains', () => {
    expect(judge({ processes: [] }).verdict).toMatchObject({ cause: 'not-training', bottleneck: 'unknown' });
    expect(
      judge({ processes: [{ pid: 5, command: 'sleep 9', torch: false, gpu: false }], pid: 5 }).verdict
        .sentence,
    ).toBe('Not training: process 5 and those below it have not loaded torch');
  });

  it('judges a CPU job, and mentions an idle GPU', () => {
    const report = judge({ processes: [{ pid: 100, gpu: false, main: 0.98 }], gpuText: DMON.dataCpu });
    expect(report.verdict).toMatchObject({ bottleneck: 'compute', cause: 'compute' });
    expect(report.advice).toContain('a GPU that the job has not opened');
  });

  it('notes further jobs, and one that ended', () => {
    const report = judge({ processes: [{ ...pegged, lives: [0, 4] }], others: [7, 8] });
    expect(report.notes).toEqual([
      'the job ended while it was watched',
      'further jobs train here (process 7, 8); choose one with --pid',
    ]);
  });

  it('says so when nothing was measured', () => {
    const recording = drawJob({ processes: [pegged] });
    expect(triage({ ...recording, samples: recording.samples.slice(0, 1) }).verdict.sentence).toContain(
      'fewer than two',
    );
  });

  it('offers only commands that a shell takes as they are', () => {
    const next = (command: string) =>
      judge({ processes: [{ ...pegged, command }], gpuText: DMON.gpuBound }).next[0];
    expect(next('python train.py --lr 1e-4')).toBe('whyslow run --trace -- python train.py --lr 1e-4');
    expect(next('python train.py; rm -rf /')).toBe('whyslow run --trace -- YOUR COMMAND');
    expect(next('python \u001b[31m')).toBe('whyslow run --trace -- YOUR COMMAND');
  });
});
