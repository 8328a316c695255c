import { describe, expect, it } from 'vitest';
import { type DrawnJob, drawJob } from '../../../test/helpers/triage.js';
import type { RunInput } from '../../ingest/input.js';
import { jobActivity } from '../../telemetry/processes/job-activity.js';
import { activityByRank, capturedRanks } from './rank-activity.js';

const recording = (job: DrawnJob, startedNs = 1) => {
  const drawn = drawJob(job);
  const activity = jobActivity({ ...drawn, machine: { ...drawn.machine, startedNs } });
  return { of: 'run', evidence: { activity } } as unknown as RunInput;
};
const worker = (pid: number, parent: number, main = 0.9) => ({ pid, parent, name: 'pt_data_worker', main });
const TWO_RANKS: DrawnJob = {
  processes: [
    { pid: 1, command: 'torchrun train.py', torch: true },
    { pid: 10, parent: 1, environment: { RANK: '0' } },
    { pid: 20, parent: 1, environment: { RANK: '1' } },
    worker(11, 10),
    worker(21, 20, 0.1),
    worker(22, 20, 0.1),
  ],
};
const processes = (found: ReturnType<typeof activityByRank>) =>
  [...found].map(([rank, a]) => `${rank}: ${a.trainer.facts.pid}, ${a.workers?.workers ?? 0} workers`);
const manifest = (pid: number | null, host: string | null = 'here') => ({ pid, host });

describe('the processes of ranks', () => {
  it('ranks of processes come from the rank that they were started as', () => {
    const found = activityByRank({ beside: [recording(TWO_RANKS)] }, new Map(), [0, 1]);
    expect(processes(found)).toEqual(['0: 10, 1 workers', '1: 20, 2 workers']);
    expect(found.get(1)!.workers!.ran).toBeCloseTo(0.1);
  });

  it('ranks of processes come from manifests, which win over the environment', () => {
    const manifests = new Map([
      [4, manifest(10)],
      [5, manifest(20, 'here.cluster')],
    ]);
    expect(processes(activityByRank({ beside: [recording(TWO_RANKS)] }, manifests, [4, 5]))).toEqual([
      '4: 10, 1 workers',
      '5: 20, 2 workers',
    ]);
  });

  it('are not taken from a recording of another run', () => {
    const manifests = new Map([[0, manifest(999)]]);
    expect(processes(activityByRank({ beside: [recording(TWO_RANKS)] }, manifests, [0, 1]))).toEqual([
      '1: 20, 2 workers',
    ]);
  });

  it('need no name in a run of one rank', () => {
    const one = recording({ processes: [{ pid: 10 }, worker(11, 10)] });
    expect(processes(activityByRank({ beside: [one] }, new Map(), [3]))).toEqual(['3: 10, 1 workers']);
    expect(processes(activityByRank({ beside: [one] }, new Map(), [3, 4]))).toEqual([]);
  });

  it('are those of the latest recording', () => {
    const [old, late] = [
      recording({ processes: [{ pid: 10 }] }, 5),
      recording({ processes: [{ pid: 30 }] }, 9),
    ];
    expect(processes(activityByRank({ beside: [late, old] }, new Map(), [0]))).toEqual(['0: 30, 0 workers']);
  });
});

it('samples stand in for what capture did not record', () => {
  const job = { ...TWO_RANKS, cores: 8, quota: 4, counters: { periods: 10, throttledPeriods: 5 } };
  const activity = activityByRank({ beside: [recording(job)] }, new Map(), [0, 1]);
  expect(capturedRanks(new Map(), activity).get(1)).toMatchObject({
    host: 'here',
    cores: { allowed: 8, quota: 4, ranks: 2 },
    cpu: { throttled: 0.5 },
    loader: { numWorkers: 2, pinMemory: null },
  });
});
