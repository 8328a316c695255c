import { describe, expect, it } from 'vitest';
import { drawView, fires, runOf, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { loaderRecord } from '../../../test/helpers/loader-record.js';
import { loggedView } from '../../../test/helpers/logged-view.js';
import { sampledRun } from '../../../test/helpers/sampled-run.js';
import type { CapturedRank } from '../../diagnosis/run-facts.js';
import type { CpuUse, ProcessCores } from '../../model/manifest.js';
import { rule } from './cpu-contention.js';

const onCpu = drawView(steps(4, 20000, 'host 1  ProfilerStep#1 0-20000 | aten::mm 0-190 x100@200'));
const logged = loggedView({ compute: 80, idle_host: 20 });

/** As measured on two busy cores: two threads that mostly wait. */
const BUSY: CpuUse = {
  used: 0.4,
  queued: 1.47,
  threads: 2,
  affinity: '0-1',
  threadQueued: 0.76,
  threadRan: 0.2,
  threadsBy: 'default',
  background: [],
  throttled: null,
};
const TWO: ProcessCores = { allowed: 2, quota: null, ranks: 1 };
const EXPECTED = { id: 'cpu-contention', unit: '%', placed: false } as const;

const rank = (cpu: Partial<CpuUse>, cores: Partial<ProcessCores> = {}, more: Partial<CapturedRank> = {}) => ({
  cores: { ...TWO, ...cores },
  cpu: { ...BUSY, ...cpu },
  loader: null,
  host: 'a',
  ...more,
});
const captured = (...ranks: readonly CapturedRank[]) => ({
  captured: new Map(ranks.map((r, i) => [i, r])),
  verdict: { bottleneck: 'compute', confidence: 0.9 } as const,
});
const said = (...ranks: readonly CapturedRank[]) => {
  const { title, fix, evidence } = fires(rule, onCpu, { ...EXPECTED, addresses: 'gpu' }, captured(...ranks));
  return { title, text: fix!.text, code: fix!.code, seen: evidence[0]!.text };
};

describe('threads that wait for a core', () => {
  it('compete with other processes where the job has no more than there are cores', () => {
    const { title, text, code, seen } = said(rank({}));
    expect(title).toBe('other processes take the cores');
    expect(seen).toMatch(/79%|78\.6%/);
    expect(seen).toContain('2 threads on 2 cores');
    expect(text).toContain('Run 1 thread for each rank');
    expect(code).toBe('export OMP_NUM_THREADS=1');
  });

  it('are too many where ranks share the cores', () => {
    const four = { allowed: 8, ranks: 4 };
    const { title, code } = said(...[0, 1, 2, 3].map(() => rank({ threads: 8 }, four)));
    expect(title).toBe('32 threads run on 8 cores');
    expect(code).toBe('export OMP_NUM_THREADS=2');
    // Only this rank was captured: the others are taken to share the cores too.
    expect(said(rank({ threads: 8 }, four)).title).toBe('32 threads run on 8 cores');
  });

  it('do not compete with ranks that are pinned to other cores', () => {
    const pinned = ['0-3', '4-7'].map((affinity) => rank({ threads: 4, affinity }, { allowed: 4, ranks: 2 }));
    expect(said(...pinned).title).toBe('other processes take the cores');
    const together = ['0-3', '0-3'].map((affinity) =>
      rank({ threads: 4, affinity }, { allowed: 4, ranks: 2 }),
    );
    expect(said(...together).title).toBe('8 threads run on 4 cores');
  });

  it('compete with loader workers', () => {
    const withWorkers = rank({ threads: 1 }, {}, { loader: loaderRecord({ numWorkers: 4 }) });
    const { title, text } = said(withWorkers);
    expect(title).toBe('1 thread and 4 busy loader workers run on 2 cores');
    // How many workers are best is for the rules about loaders to say.
    expect(text).not.toContain('fewer loader workers');
    const asleep = loaderRecord({ numWorkers: 4, workersRan: 0.02, workersQueued: 0.01 });
    expect(said(rank({ threads: 1 }, {}, { loader: asleep })).title).toBe('other processes take the cores');
  });

  it('hold up Python too, and are not what a job that waits for input begins with', () => {
    const run = (bottleneck: 'host' | 'data', cpu: Partial<CpuUse> = {}) => ({
      ...captured(rank(cpu)),
      verdict: { bottleneck, confidence: 0.9 } as const,
    });
    fires(rule, onCpu, { ...EXPECTED, addresses: 'host' }, run('host'));
    fires(rule, onCpu, { ...EXPECTED, addresses: 'gpu' }, run('data'));
    // A loop that sleeps most of the time.
    fires(rule, onCpu, { ...EXPECTED, addresses: 'gpu' }, run('host', { used: 0.1, queued: 0.3 }));
  });

  it('matter on a GPU job if the training thread is among them', () => {
    const run = (cpu: Partial<CpuUse>) => ({ ...captured(rank(cpu)), verdict: runOf([]).verdict });
    fires(rule, logged, { ...EXPECTED, addresses: 'host' }, run({}));
    expect(silence(rule, logged, run({ threadQueued: 0.09 }))).toMatch(/hardly wait/);
    expect(silence(rule, logged, run({ threadQueued: null }))).toMatch(/hardly wait/);
  });
});

describe('a container with a quota', () => {
  const quota = { allowed: 64, quota: 2.5 };

  it('is named where it used up its quota', () => {
    const { title, seen, text, code } = said(rank({ throttled: 0.62, queued: 0 }, quota));
    expect(title).toMatch(/quota/);
    expect(seen).toMatch(/2\.5 cores.*62%/);
    expect(text).toContain('Raise the quota');
    expect(code).toContain('OMP_NUM_THREADS=2');
  });

  it('counts as having that many cores', () => {
    expect(said(rank({ threads: 16, throttled: 0 }, quota)).title).toBe('16 threads run on 2 cores');
  });
});

it.each<[string, Partial<CapturedRank> | undefined, RegExp]>([
  ['nothing was recorded', undefined, /not recorded/],
  ['an older capture wrote no processor time', { ...rank({}), cpu: null }, /not recorded/],
  ['the cores are not known', { ...rank({}), cores: null }, /not recorded/],
  ['threads find a core', rank({ used: 0.97, queued: 0.025 }), /hardly wait/],
  ['one in five does not', rank({ used: 0.81, queued: 0.2 }), /hardly wait/],
  ['hardly any thread runs', rank({ used: 0.05, queued: 0.09 }), /hardly wait/],
  ['the system does not report it', rank({ queued: null }), /hardly wait/],
  ['it was rarely throttled', rank({ queued: 0, throttled: 0.09 }), /hardly wait/],
])('is silent when %s', (_, own, reason) => {
  const run = own ? captured(own as CapturedRank) : captured();
  expect(silence(rule, onCpu, run)).toMatch(reason);
});

describe('samples of /proc, without manifests', () => {
  const pool = (threads: number, cpu: number, delayed: number) =>
    Array.from({ length: threads }, (_, i) => [`omp ${i}`, cpu, delayed] as const);

  it('show threads that compete for a small quota', () => {
    const run = sampledRun({
      processes: [{ pid: 100, main: 0.2, delayed: 0.6, threads: pool(15, 0.12, 0.7) }],
      cores: 64,
      quota: 2,
      counters: { runnable: 16, cpuPressure: 0.95, periods: 10, throttledPeriods: 0 },
    });
    const verdict = { bottleneck: 'compute', confidence: 0.9 } as const;
    const { title, fix, evidence } = fires(
      rule,
      onCpu,
      { ...EXPECTED, addresses: 'gpu' },
      { ...run, verdict },
    );
    expect(title).toBe('16 threads run on 2 cores');
    expect(fix!.code).toBe('export OMP_NUM_THREADS=2');
    expect(evidence[1]!.text).toMatch(
      /^in \/proc: 16.0 threads of the machine .* on 2 CPUs; some task waited .* 95%/,
    );
  });

  it('show a quota that stops the job', () => {
    const counters = { periods: 10, throttledPeriods: 6 };
    const run = sampledRun({ processes: [{ pid: 100, main: 0.4 }], cores: 64, quota: 2, counters });
    const verdict = { bottleneck: 'compute', confidence: 0.9 } as const;
    const { title } = fires(rule, onCpu, { ...EXPECTED, addresses: 'gpu' }, { ...run, verdict });
    expect(title).toBe('the container’s CPU quota stops the job');
  });

  it('are silent about threads that get their cores', () => {
    const run = sampledRun({ processes: [{ pid: 100, main: 0.9, threads: pool(3, 0.9, 0.02) }], cores: 4 });
    expect(silence(rule, onCpu, run)).toMatch(/hardly wait/);
  });
});
