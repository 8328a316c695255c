import { describe, expect, it } from 'vitest';
import { drawView, expectGain, fires, silence } from '../../../test/helpers/draw-run.js';
import { inTurn, steps } from '../../../test/helpers/draw-trace.js';
import { loaderRecord } from '../../../test/helpers/loader-record.js';
import { loggedView } from '../../../test/helpers/logged-view.js';
import { sampledRun } from '../../../test/helpers/sampled-run.js';
import type { DrawnProcess } from '../../../test/helpers/triage.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { CapturedLoader } from '../../diagnosis/run-facts.js';
import { rule } from './slow-workers.js';

/** 40 ms of waiting for the workers, 10 ms of computing. */
const STARVED = `
  host 1  ProfilerStep#1 0-50000 | enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 0-40000
  host 1  cudaLaunchKernel 40000-40020 #1 | cudaStreamSynchronize 40030-50000
  gpu 7   gemm 40030-49990 #1`;
const FED = `
  host 1  ProfilerStep#1 0-50000 | enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 0-200
  host 1  cudaLaunchKernel 200-220 #1 | cudaStreamSynchronize 230-50000
  gpu 7   gemm 230-49990 #1`;

/** An event log: 40 ms of waiting for input, 10 ms of computing. */
const onGpu = loggedView({ idle_data: 40, compute: 10 });
const EXPECTED = { id: 'slow-workers', addresses: 'data', unit: 'ms/step', placed: true } as const;

describe('workers that do not keep up', () => {
  it('finds the GPU idle in the loader although it has workers', () => {
    const found = fires(rule, drawView(steps(4, 50000, STARVED)), EXPECTED);
    expect(found.evidence[0]!.value).toBeCloseTo(40, 0);
    expect(found.evidence[0]!.dur_ns).toBe(40e6);
    expect(found.price).toBeNull();
  });

  it('finds workers that deliver less than is used, before the first wait', () => {
    const copied = `${FED}
      host 1  cudaMemcpyAsync 222-225 #2
      gpu 7   Memcpy HtoD (Pinned -> Device) 49991-49992 #2 bytes=4096`;
    const expected = { id: 'slow-workers', addresses: 'data', unit: 'batches/step', placed: true } as const;
    // A batch arrived before the first step, so arrivals are recorded.
    const before = ['host 2  cudaPointerGetAttributes 10-11', 100] as const;
    const view = drawView(inTurn(before, ...Array(4).fill([copied, 50000] as const)));
    const found = fires(rule, view, expected);
    expect(found.evidence[0]!.text).toMatch(/delivered 0 batches while the steps used 4/);
    expect(found.confidence).toBeLessThan(0.6);
    expect(found.price).toBeNull();
  });

  describe('with what capture recorded', () => {
    const finding = (allowed: number, known: Partial<CapturedLoader>, view: RankView = starved) => {
      const loader = loaderRecord({ numWorkers: 2, workersRan: 0.95, workersQueued: 0, ...known });
      const captured = new Map([[0, { cores: { allowed, quota: null, ranks: 1 }, loader }]]);
      return fires(rule, view, { ...EXPECTED, placed: view.source === 'trace' }, { captured });
    };
    const starved = drawView(steps(4, 50000, STARVED));

    it('prices more workers where cores are free: 2 * 50 ms * 1.1 / 7', () => {
      const found = finding(8, {});
      expectGain(found, 50 / (110 / 7));
      expect(found).toMatchObject({ cost: 'knob', risk: 'memory' });
      expect(found.fix!.text).toMatch(/from 2 to 7/);
      expect(found.evidence[0]!.text).toMatch(/a worker computes for 95%/);
    });

    it('prices the same from an event log', () => {
      expectGain(finding(8, {}, onGpu), 50 / (110 / 7));
    });

    it('advises no more workers than cores if they compute', () => {
      const found = finding(3, {});
      expect(found.price).toBeNull();
      expect(found.fix!.text).toMatch(/^3 cores and 2 workers: more workers would not help. Move decoding/);
    });

    it('advises to try more workers first where nothing shows what they wait for', () => {
      const found = fires(rule, starved, { ...EXPECTED, placed: true });
      expect(found.price).toBeNull();
      expect(found.fix!.code).toContain('num_workers=4 * num_workers');
      expect(found.fix!.text).toMatch(/Try 4 times as many first/);
    });

    it('names the number to try where the loader has a known number of workers', () => {
      const found = finding(8, { workersRan: null });
      expect(found.fix!.code).toContain('num_workers=8');
      expect(found.fix!.text).toMatch(/Try 4 times as many first/);
    });

    it('advises no workers where unpacking a batch takes longer than making it', () => {
      // 40 of 50 ms wait; 1.5 ms of work per batch.
      const found = finding(8, { fetchRan: 0.9, workersRan: 0.015 });
      expect(found.fix!.code).toBe('DataLoader(..., num_workers=0)');
      expectGain(found, 50 / (10 + 1.5));
      expect(found.price!.speedup.low).toBe(1);
      expect(finding(8, { fetchRan: 0.9, workersRan: 0.4 }).fix!.code).not.toMatch(/num_workers/);
    });

    it('advises more workers than cores if they sleep: 2 * 50 ms for 10 ms of computing', () => {
      const found = finding(2, { workersRan: 0.05 });
      expect(found).toMatchObject({ cost: 'knob', risk: 'memory' });
      expect(found.fix!.text).toMatch(
        /^Raise num_workers from 2 to 12\. They wait for most of the time.*NVMe/,
      );
      expectGain(found, 50 / 10);
    });

    it('advises no more workers than an epoch has batches, and prices the first batch of each epoch', () => {
      const found = finding(8, { workersRan: 0.05, batches: 4 });
      expect(found.fix!.text).toMatch(/from 2 to 4/);
      // Two workers need 100 ms for a batch: of four steps one waits for that, and the others find theirs.
      expectGain(found, 50 / (10 + 100.5 / 4));
    });

    it('workers that are started again and again are another fault', () => {
      const restarted = { numWorkers: 2, starts: 25, made: 1, startMs: 100, firstMs: 60, laterMs: 5 };
      const captured = new Map([[0, { cores: null, loader: loaderRecord(restarted), steps: 100 }]]);
      expect(silence(rule, starved, { captured })).toMatch(/workers-restarted covers it/);
    });

    it.each<[string, Partial<CapturedLoader>, RegExp, RegExp]>([
      ['reads', { workersRan: 0.05 }, /sleeps for 95%/, /from 2 to 12.*NVMe/],
      [
        'cores that others use',
        { workersRan: 0.3, workersQueued: 0.7 },
        /free core for 70%/,
        /would not help/,
      ],
      ['handing batches over', { fetchRan: 0.9 }, /unpacks batches for 90%/, /fewer and smaller tensors/],
    ])('names %s as the limit', (_, known, evidence, fix) => {
      const found = finding(8, known);
      expect(found.evidence[0]!.text).toMatch(evidence);
      expect(found.fix!.text).toMatch(fix);
    });

    it('does not speak of a GPU on a job without one', () => {
      const onCpu = { ...onGpu, facts: { ...onGpu.facts, hasGpuWork: false } };
      for (const known of [{}, { fetchRan: 0.9 }, { workersRan: 0.3, workersQueued: 0.7 }]) {
        const { evidence, fix } = finding(8, known, onCpu);
        expect(`${evidence[0]!.text} ${fix!.text} ${fix!.code}`).not.toMatch(/GPU|pin_memory/);
      }
    });

    it('warns of duplicates', () => {
      const found = finding(8, { iterable: true, splitByWorker: null });
      expect(found).toMatchObject({ cost: 'code', risk: 'data' });
      expect(found.fix!.text).toMatch(/^First split the data by worker.*may not split/);
    });
  });

  describe('with samples of /proc and no manifest', () => {
    const found = (worker: Partial<DrawnProcess>) => {
      const workers = [200, 201].map((pid) => ({ pid, parent: 100, name: 'pt_data_worker', ...worker }));
      const run = sampledRun({ processes: [{ pid: 100, main: 0.2 }, ...workers], cores: 8 });
      return fires(rule, drawView(steps(4, 50000, STARVED)), EXPECTED, run);
    };

    it('tells pegged workers: more of them, or transforms on the GPU', () => {
      const { evidence, fix } = found({ main: 0.97 });
      expect(evidence[1]!.text).toBe('in /proc, 2 DataLoader workers: run 97% of the time');
      expect(fix!.text).toMatch(/from 2 to 8.*augmentation to the GPU/);
    });

    it('tells workers in state D: NVMe and shards', () => {
      const { evidence, fix } = found({ main: 0.06, waits: 'D', reads: 3e6 });
      expect(evidence[1]!.text).toBe(
        'in /proc, 2 DataLoader workers: run 6% of the time, wait for a disk or network file system 100% of the time; together they read 6.00 MB/s, 0 B/s from disk',
      );
      expect(fix!.text).toMatch(/NVMe/);
    });

    it('does not call a sleep on a timer reading', () => {
      const { evidence, fix } = found({ main: 0.06, waits: 'hrtimer_nanosleep' });
      expect(evidence[0]!.text).not.toMatch(/reads/);
      expect(evidence[1]!.text).toMatch(/sleep on a timer \(time\.sleep\) 100%/);
      expect(fix!.text).toMatch(/find the time\.sleep in the dataset/);
      expect(fix!.text).not.toMatch(/NVMe/);
    });

    it('does not call it reading when they wait to be asked', () => {
      const { evidence, fix, price } = found({ main: 0.06, waits: 'futex_wait_queue' });
      expect(evidence[0]!.text).not.toMatch(/reads/);
      expect(evidence[1]!.text).toMatch(/wait for a request or a lock 100%/);
      expect(fix!.text).toMatch(/whyslow triage/);
      expect(price).toBeNull();
    });
  });

  it('finds the workers of a StatefulDataLoader', () => {
    fires(rule, drawView(steps(4, 50000, STARVED.replace('_Multi', '_StatefulMulti'))), EXPECTED);
  });

  it.each([
    ['batches are ready', /input waits are/, FED],
    [
      'the main process loads',
      /no DataLoader with workers/,
      STARVED.replace('_MultiProcessing', '_SingleProcess'),
    ],
    ['nothing loads', /no DataLoader with workers/, STARVED.replace(/enumerate\S+/, 'aten::rand')],
  ])('is silent when %s', (_, reason, drawing) => {
    expect(silence(rule, drawView(steps(4, 50000, drawing)))).toMatch(reason);
  });
});
