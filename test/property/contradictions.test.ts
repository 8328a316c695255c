import { describe, expect, it } from 'vitest';
import { UNKNOWN_LOADER } from '../../src/diagnosis/ranks/rank-activity.js';
import type { CapturedRank, RunFacts } from '../../src/diagnosis/run-facts.js';
import { RULES } from '../../src/rules/rules.js';
import { runRules } from '../../src/rules/run-rules.js';
import { contradictionsIn } from '../../zoo/contradictions.js';
import { cases, countCases, SEED } from '../helpers/cases.js';
import { drawView, runOf } from '../helpers/draw-run.js';
import { steps } from '../helpers/draw-trace.js';
import { loggedView } from '../helpers/logged-view.js';

const CASES = cases(250, 5000);

/** Any numbers between 0 and 1, the same for a seed. */
function drawing(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}

const LOADER = (kind: string) =>
  `host 1  ProfilerStep#1 0-50000 | enumerate(DataLoader)#_${kind}DataLoaderIter.__next__ 0-30000 | aten::mm 30000-30003 x400@40\n`;
const TRACES = [
  LOADER('SingleProcess'),
  LOADER('MultiProcessing'),
  `${LOADER('SingleProcess')}  host 1 cudaLaunchKernel 46010-46020 #1 x50@60\n  gpu 7   gemm 46030-46035 #1 x50@60`,
  `${LOADER('MultiProcessing')}  host 1 aten::copy_ 47000-47200 | cudaMemcpyAsync 47010-47190 #1\n  gpu 7   Memcpy HtoD (Pageable -> Device) 47020-47180 #1 bytes=65536`,
].map((text) => drawView(steps(4, 50_000, text)));

/** One rank, with anything that capture can see. */
function drawRun(next: () => number): RunFacts {
  const pick = <T>(...of: readonly T[]): T => of[Math.floor(next() * of.length)]!;
  const maybe = (value: number) => (next() < 0.3 ? null : value);
  const logged = loggedView({
    idle_data: 20 * next(),
    compute: 20 * next(),
    idle_host: 20 * next(),
    comms_transfer: 5 * next(),
  });
  const hasGpu = next() < 0.5;
  const view = next() < 0.5 ? pick(...TRACES) : { ...logged, facts: { ...logged.facts, hasGpuWork: hasGpu } };
  const [ran, workersRan] = [next(), next()];
  const captured: CapturedRank = {
    cores: next() < 0.2 ? null : { allowed: pick(1, 2, 8, 64), quota: null, ranks: pick(1, 1, 4) },
    steps: pick(20, 500),
    cpu: {
      used: 4 * next(),
      queued: maybe(4 * next()),
      threads: pick(1, 2, 16),
      affinity: null,
      threadQueued: next() * 0.5,
      threadRan: next() * 0.5,
      threadsBy: pick('code', 'environment', 'default', null),
      background: [],
      throttled: maybe(next()),
    },
    loader:
      next() < 0.2
        ? null
        : {
            ...UNKNOWN_LOADER,
            numWorkers: maybe(pick(0, 0, 1, 2, 8)),
            persistentWorkers: pick(true, false, null),
            pinMemory: pick(true, false, null),
            iterable: pick(true, false, null),
            fetchMs: 20 * next(),
            fetchRan: maybe(ran),
            fetchQueued: (1 - ran) * next(),
            workersRan: maybe(workersRan),
            workersQueued: (1 - workersRan) * next(),
            batches: maybe(pick(1, 4, 1000)),
            starts: maybe(pick(1, 30)),
            made: maybe(pick(1, 30)),
            startMs: maybe(100 * next()),
            firstMs: maybe(50 * next()),
            laterMs: maybe(10 * next()),
            endMs: maybe(50 * next()),
          },
    smallCollectives:
      next() < 0.5
        ? null
        : { steps: 10, calls: 2000, small: pick(0, 200), smallMs: 9, short: 1000, shortMs: 90 },
  };
  const bottleneck = pick('data', 'host', 'compute', 'gpu', 'comms', 'unknown');
  return { ...runOf([view], bottleneck), captured: new Map([[0, captured]]) };
}

describe('findings of one report', () => {
  it(`never contradict each other, whatever capture saw (${CASES} cases)`, () => {
    const found: string[] = [];
    let findings = 0;
    for (let i = 0; i < CASES; i++) {
      const run = drawRun(drawing(SEED + i));
      const result = runRules(RULES, run);
      findings += result.findings.length;
      const wrong = contradictionsIn(result.findings, run.ranks[0]!.facts.hasGpuWork);
      found.push(...[...wrong, ...result.problems.map((p) => p.message)].map((text) => `case ${i}: ${text}`));
    }
    countCases(CASES);
    expect(found).toEqual([]);
    expect(findings).toBeGreaterThan(CASES);
  });

  it('contradict each other if one argument has two values, or a job without a GPU is to pin memory', () => {
    const advice = (id: 'slow-workers' | 'num-workers-zero', code: string) => ({
      id,
      fix: { text: '', code },
    });
    const [four, none] = [
      advice('slow-workers', 'DataLoader(..., num_workers=4)'),
      advice('num-workers-zero', 'DataLoader(..., num_workers=0)'),
    ];
    expect(contradictionsIn([four, none], true)).toEqual([
      'num_workers: 4 (slow-workers), 0 (num-workers-zero)',
    ]);
    expect(contradictionsIn([four, four], true)).toEqual([]);
    expect(
      contradictionsIn([advice('slow-workers', 'DataLoader(..., pin_memory=True)')], false),
    ).toHaveLength(1);
  });
});
