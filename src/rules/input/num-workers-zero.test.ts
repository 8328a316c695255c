import { describe, expect, it } from 'vitest';
import { drawView, expectGain, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { loaderRecord } from '../../../test/helpers/loader-record.js';
import { loggedView } from '../../../test/helpers/logged-view.js';
import { ns } from '../../base/units.js';
import type { CapturedCpu, CapturedLoader } from '../../diagnosis/run-facts.js';
import type { JobTime } from '../../facts/job-time.js';
import type { InputKind } from '../../facts/rank-facts.js';
import { rule } from './num-workers-zero.js';

/** 100 ms to make a batch; 10 ms to compute with it, which the next batch hides. */
const LOADS_IN_MAIN = `
  host 1  ProfilerStep#1 0-100100 | enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ 0-100000
  host 1  cudaLaunchKernel 100000-100020 #1
  gpu 7   gemm 100030-110030 #1`;
/** 1 ms to make a batch, 49 ms to compute. */
const FAST_LOADER = `
  host 1  ProfilerStep#1 0-50000 | enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ 0-1000
  host 1  cudaLaunchKernel 1000-1020 #1 | cudaStreamSynchronize 1030-50000
  gpu 7   gemm 1030-49990 #1`;
/** No loader: 100 ms of Python, then the batch is copied. */
const BY_HAND = `
  host 1  ProfilerStep#1 0-100100 | aten::copy_ 99999-100011 | cudaMemcpyAsync 100000-100010 #1 | cudaLaunchKernel 100020-100030 #2
  gpu 7   Memcpy HtoD (Pinned -> Device) 100020-100040 #1 bytes=65536 | gemm 100040-110040 #2`;

/** An event log: 90 ms of waiting for input, 10 ms of computing. */
const logView = loggedView({ idle_data: 90, compute: 10 });

const EXPECTED = { id: 'num-workers-zero', addresses: 'data', unit: 'ms/step', placed: true } as const;

/** The training thread computes or loads all of the time. */
const BUSY: CapturedCpu = {
  used: 1,
  queued: 0,
  threads: 1,
  affinity: null,
  threadQueued: 0,
  threadRan: 1,
  threadsBy: null,
  background: [],
  throttled: null,
};

describe('a loop without a DataLoader', () => {
  const fed = (inputKind: InputKind, cpu: Partial<CapturedCpu> = {}) =>
    fires(
      rule,
      { ...logView, inputLine: 'train.py:12 (b = q.get())', inputKind },
      { ...EXPECTED, id: 'fed-input', placed: false },
      { captured: new Map([[0, { cores: null, loader: null, cpu: { ...BUSY, ...cpu } }]]) },
    );

  it('that waits for a coroutine gets as many producers as its steps can use: 100 ms * 1.25 / 10 ms', () => {
    const found = fed('await', { used: 0.1, threadRan: 0.1 });
    expect(found.title).toMatch(/awaits batches/);
    expect(found.fix!.code).toMatch(/range\(13\)\]\nawait asyncio\.gather\(/);
    expectGain(found, 100 / 10);
  });

  it('that waits for a thread which computes gets processes, because threads share a lock', () => {
    expect(fed('queue', { used: 0.95, threadRan: 0.1 }).fix!.code).toMatch(/^DataLoader\(/);
    expect(fed('queue', { used: 0.15, threadRan: 0.1 }).fix!.code).toMatch(/Thread\(target=produce/);
  });

  it('that collects rollouts gets several environments at once', () => {
    const iteration = { optimizerSteps: 8, optimizers: 1, backwardPasses: 8, varies: false, rollout: true };
    const view = { ...logView, inputLine: 'env.py:3 (time.sleep(1))', job: { ...JOB, iteration } };
    const found = fires(rule, view, { ...EXPECTED, id: 'input-on-training-thread', placed: false });
    expect(found.title).toMatch(/rollout/);
    expect(found.fix!.code).toMatch(/n_envs=4/);
  });
});

const JOB: JobTime = {
  wall: ns(1e9),
  startUp: ns(0),
  training: ns(1e9),
  end: ns(0),
  steps: 10,
  iteration: null,
  phases: [],
};

describe('num_workers=0', () => {
  it('prices eight workers: 100 ms * 1.1 / 8 = 13.75 ms, longer than the 10 ms of computing', () => {
    const found = fires(rule, drawView(steps(4, 100100, LOADS_IN_MAIN)), EXPECTED);
    expectGain(found, 100.1 / 13.75);
    expect(found.evidence[0]!.value).toBeCloseTo(90, 0);
    expect(found.evidence[0]!.dur_ns).toBe(100e6);
  });

  it('cannot be faster than computing: 100 ms to load, 50 ms to compute', () => {
    const slow = LOADS_IN_MAIN.replace('100030-110030', '100030-150030');
    expectGain(fires(rule, drawView(steps(4, 100100, slow)), EXPECTED), 100.1 / 50);
  });

  it('without a loader, takes the time before the copy of a batch for making it, with less confidence', () => {
    const view = drawView(steps(4, 100100, BY_HAND));
    const found = fires(rule, view, { ...EXPECTED, id: 'input-on-training-thread' });
    expectGain(found, 100.1 / 13.75);
    expect(found.confidence).toBeLessThan(0.9);
  });

  it('names the line that makes the batches, where stack samples found it', () => {
    const view = { ...logView, inputLine: 'train.py:12 (yield x)' };
    const found = fires(rule, view, { ...EXPECTED, id: 'input-on-training-thread', placed: false });
    expect(found.evidence[0]!.text).toMatch(
      /^stack samples: 90\.0 ms per step .* in train\.py:12 \(yield x\)$/,
    );
    expectGain(found, 100 / ((90 * 1.1) / 8));
  });

  describe('with what capture recorded', () => {
    const withCapture = (allowed: number, known: Partial<CapturedLoader>) => {
      const loader = loaderRecord({ numWorkers: 0, fetchMs: 100, fetchRan: 0.98, fetchQueued: 0, ...known });
      return { captured: new Map([[0, { cores: { allowed, quota: null, ranks: 1 }, loader }]]) };
    };
    const finding = (allowed: number, known: Partial<CapturedLoader> = {}) =>
      fires(rule, drawView(steps(4, 100100, LOADS_IN_MAIN)), EXPECTED, withCapture(allowed, known));

    it('prices as many workers as cores can feed: 100 ms * 1.25 / 3', () => {
      const found = finding(4);
      expectGain(found, 100.1 / (125 / 3));
      expect(found.fix!.code).toContain('num_workers=3,');
      expect(found.evidence[0]!.text).toMatch(/computes for 98%/);
    });

    it('advises no more workers than the step needs: 10 ms of computing, 95 ms of reading', () => {
      const found = finding(64, { fetchRan: 0.03 });
      expect(found.fix!.code).toContain('num_workers=12,');
      expect(found.evidence[0]!.text).toMatch(/sleeps for 97%/);
      // Taking a batch from a worker costs the training thread 0.35 ms.
      expectGain(found, 100.1 / 10.35);
    });

    it('promises less at worst where other processes hold the cores: they may go on doing so', () => {
      const [free, held] = [{ fetchRan: 0.3 }, { fetchRan: 0.3, fetchQueued: 0.6 }].map((ran) =>
        finding(16, ran),
      );
      expect(held!.price!.speedup.low).toBeLessThan(0.8 * free!.price!.speedup.low);
      expect(held!.price!.speedup.likely).toBeGreaterThanOrEqual(held!.price!.speedup.low);
    });

    it('advises no workers for batches that take less to make than to hand over', () => {
      const tiny = loggedView({ idle_data: 0.2, compute: 0.3 });
      const run = withCapture(16, { fetchMs: 0.2 });
      const found = fires(rule, tiny, { ...EXPECTED, placed: false }, run);
      expect(found.price).toBeNull();
      expect(found.fix!.code).not.toMatch(/num_workers/);
      expect(found.fix!.text).toMatch(/in one piece instead of sample by sample/);
    });

    it('advises no workers where one core is all there is', () => {
      const found = finding(1);
      expect(found.price).toBeNull();
      expect(found.fix!.text).toMatch(/^1 core and 0 workers: more workers would not help/);
    });

    it('shares cores among ranks and keeps to the quota of a container', () => {
      const loader = loaderRecord({ numWorkers: 0, fetchRan: 1 });
      const cores = { allowed: 64, quota: 8, ranks: 2 };
      const run = { captured: new Map([[0, { cores, loader }]]) };
      const found = fires(rule, drawView(steps(4, 100100, LOADS_IN_MAIN)), EXPECTED, run);
      expect(found.fix!.code).toContain('num_workers=3,');
    });

    it('speaks the words of the framework, and pins only what is not pinned', () => {
      const trainer = finding(4, { framework: 'transformers', pinMemory: true }).fix!.code;
      expect(trainer).toContain('dataloader_num_workers=3');
      expect(trainer).not.toContain('pin_memory');
      expect(finding(4, { framework: 'skorch' }).fix!.code).toMatch(
        /^NeuralNet\(.*iterator_train__num_workers=3/s,
      );
      expect(finding(4, { framework: 'ultralytics' }).fix!.code).toBe('model.train(..., workers=3)');
      expect(finding(4, { framework: 'keras' }).fix!.code).toMatch(
        /PyDataset\n.*use_multiprocessing=True, workers=3\)$/,
      );
      expect(finding(4, { framework: 'toString' }).fix!.code).toMatch(/^DataLoader\(/);
      expect(finding(4, { framework: 'lightning' }).fix!.code).toMatch(/train_dataloader.*pin_memory=True/s);
    });

    it('warns of duplicates in the finding itself', () => {
      const found = finding(4, { iterable: true, splitByWorker: false });
      expect(found).toMatchObject({ risk: 'data', cost: 'code' });
      expect(found.fix!.text).toMatch(/^First split the data by worker/);
      expect(found.fix!.code).toContain('get_worker_info()');
      expect(finding(4, { iterable: true, splitByWorker: true }).fix!.text).not.toMatch(/split/);
      // One worker yields everything once.
      expect(
        finding(2, { fetchQueued: 0.5, fetchRan: 0.5, batches: 1, iterable: true, splitByWorker: false })
          .risk,
      ).toBe('memory');
    });

    it('says that workers gain nothing while all cores are busy', () => {
      expect(finding(4, { fetchRan: 0.2, fetchQueued: 0.8 }).fix!.text).toMatch(/^All cores are busy/);
    });
  });

  describe('from an event log', () => {
    const view = { ...logView, facts: { ...logView.facts, hasGpuWork: true } };
    const seen = { ...EXPECTED, placed: false };
    const run = (known: Partial<CapturedLoader>) => ({
      captured: new Map([[0, { cores: { allowed: 4, quota: null, ranks: 1 }, loader: loaderRecord(known) }]]),
    });

    it('is priced where capture saw that there are no workers', () => {
      const found = fires(rule, view, seen, run({ numWorkers: 0, fetchMs: 90, fetchRan: 1 }));
      // 10 ms of computing; 90 ms * 1.25 / 3 to load.
      expectGain(found, 100 / 37.5);
    });

    it('on a job without GPU, workers share the cores with computing', () => {
      const onCpu = { ...view, facts: { ...view.facts, hasGpuWork: false } };
      const loader = loaderRecord({ numWorkers: 0, fetchMs: 90, fetchRan: 1 });
      const captured = new Map([[0, { cores: { allowed: 2, quota: null, ranks: 1 }, loader, cpu: BUSY }]]);
      const found = fires(rule, onCpu, seen, { captured });
      // 90 ms * 1.25 to load and 10 ms to compute, on two cores.
      expectGain(found, 100 / ((112.5 + 10) / 2));
      expect(found.fix!.code).toMatch(/num_workers=2,/);
      expect(found.fix!.code).not.toContain('pin_memory');
    });

    it('counts what starting workers costs in a short job', () => {
      const known = run({ numWorkers: 0, fetchMs: 90, fetchRan: 0.1, batches: 1000 });
      const [short, long] = [20, 20_000].map((count) => {
        const captured = new Map([...known.captured].map(([rank, its]) => [rank, { ...its, steps: count }]));
        return fires(rule, view, seen, { ...known, captured } as typeof known);
      });
      const workersIn = (found: typeof short) => Number(/num_workers=(\d+)/.exec(found!.fix!.code)![1]);
      expect(workersIn(short)).toBeLessThan(workersIn(long));
      expect(short!.price!.speedup.likely).toBeLessThan(0.8 * long!.price!.speedup.likely);
    });

    it('counts batches of short epochs: no epoch keeps more workers busy', () => {
      const found = fires(rule, view, seen, run({ numWorkers: 0, fetchMs: 90, fetchRan: 0.1, batches: 4 }));
      expect(found.fix!.code).toContain('num_workers=4,');
      // The first of four batches is not made ahead.
      expectGain(found, 100 / (10 + (9 * 1.25 + 81 * 0.95) / 4));
    });

    it('leaves loaders with workers to others, and guesses where nothing is known', () => {
      expect(silence(rule, view, run({ numWorkers: 2 }))).toMatch(/already has workers/);
      fires(rule, view, { ...seen, id: 'input-wait' });
    });
  });

  it.each([
    [
      'workers load already',
      /already has workers/,
      steps(4, 100100, LOADS_IN_MAIN.replace('_SingleProcess', '_MultiProcessing')),
    ],
    [
      'workers of a StatefulDataLoader load already',
      /already has workers/,
      steps(4, 100100, LOADS_IN_MAIN.replace('_SingleProcess', '_StatefulMultiProcessing')),
    ],
    [
      'there is no loader',
      /no DataLoader/,
      steps(4, 100100, LOADS_IN_MAIN.replace(/enumerate\S+/, 'aten::rand')),
    ],
    ['batches are quickly made', /input waits are/, steps(4, 50000, FAST_LOADER)],
  ])('is silent when %s', (_, reason, drawing) => {
    expect(silence(rule, drawView(drawing))).toMatch(reason);
  });
});
