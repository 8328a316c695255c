import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judge } from '../../src/answers/steps/judge.js';
import { UNKNOWN_JOB } from '../../src/diagnosis/job-words.js';
import { viewTrace } from '../../src/diagnosis/ranks/rank-view.js';
import { NO_EVIDENCE } from '../../src/diagnosis/run-evidence.js';
import { Trace } from '../../src/model/trace.js';
import { RULES } from '../../src/rules/rules.js';
import { runRules } from '../../src/rules/run-rules.js';
import { compareRanks } from '../../src/run/compare.js';
import { analyzeTrace } from '../../src/traces/analyze-trace.js';
import { cases } from '../helpers/cases.js';
import { readTrace } from '../helpers/read-trace.js';

const HOST = [
  ...[
    'ProfilerStep#1',
    'ProfilerStep#2',
    'ProfilerStep#3',
    'aten::mm',
    'aten::item',
    'aten::linear',
    'aten::bmm',
  ],
  ...[
    'enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__',
    'Optimizer.step#AdamW.step',
    'gloo:all_reduce',
  ],
  ...[
    'autograd::engine::evaluate_function: AddmmBackward0',
    'aten::isnan',
    'aten::_softmax',
    'TorchDynamo Cache Lookup',
  ],
];
const CALLS = [
  'cudaLaunchKernel',
  'cudaMemcpyAsync',
  'cudaStreamSynchronize',
  'cudaGraphLaunch',
  'cudaMalloc',
  'cudaEventSynchronize',
];
const WORK = [
  'ampere_sgemm_128x64_tn',
  'nvjet_tst_256',
  'ncclDevKernel_AllReduce_Sum',
  'Memcpy HtoD (Pageable -> Device)',
  'Memset (Device)',
  'void nchwToNhwcKernel<float>',
];

const time = fc.oneof(
  fc.integer({ min: 0, max: 5000 }),
  fc.integer({ min: -100, max: 1e6 }),
  fc.double({ min: 0, max: 4000, noNaN: true }),
);
const category = (name: string) =>
  WORK.includes(name)
    ? name.startsWith('Mem')
      ? name[3] === 's'
        ? 'gpu_memset'
        : 'gpu_memcpy'
      : 'kernel'
    : CALLS.includes(name)
      ? 'cuda_runtime'
      : /^ProfilerStep|^enumerate|^Optimizer/.test(name)
        ? 'user_annotation'
        : 'cpu_op';

/** Any event, in any order, nested or not, with or without its launch or work. */
const event = fc
  .record({
    name: fc.constantFrom(...HOST, ...CALLS, ...CALLS, ...WORK, ...WORK, 'x'.repeat(3000)),
    ts: time,
    dur: fc.oneof({ weight: 8, arbitrary: fc.integer({ min: 0, max: 800 }) }, { weight: 1, arbitrary: time }),
    thread: fc.integer({ min: 1, max: 3 }),
    correlation: fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined }),
    bytes: fc.option(fc.integer({ min: -1, max: 1e9 }), { nil: undefined }),
  })
  .map(({ name, ts, dur, thread, correlation, bytes }) => {
    const gpu = WORK.includes(name);
    const args = {
      correlation,
      ...(gpu ? { stream: thread + 6, device: 0 } : {}),
      ...(bytes === undefined ? {} : { bytes }),
    };
    return {
      ph: 'X',
      cat: category(name),
      name,
      pid: gpu ? 0 : 100,
      tid: gpu ? thread + 6 : thread,
      ts: ts + 1000,
      dur,
      args,
    };
  });
const header = fc.constantFrom(
  {},
  { deviceProperties: [{ id: 0, name: 'NVIDIA H200', computeMajor: 9, computeMinor: 0 }] },
);
const trace = fc
  .tuple(fc.array(event, { maxLength: 120 }), header)
  .map(([traceEvents, head]) => JSON.stringify({ schemaVersion: 1, ...head, traceEvents }));

function diagnoseText(text: string, rank = 0) {
  const facts = analyzeTrace(new Trace(readTrace(text).trace), { steps: null });
  return facts && viewTrace(rank, facts, null);
}

describe('any trace', () => {
  it('is judged without failing, with figures that add up and prices that make sense', () => {
    fc.assert(
      fc.property(trace, (text) => {
        const view = diagnoseText(text);
        if (!view) return;
        const sum = Object.values(view.time).reduce((a, b) => a + b, 0);
        expect(Math.abs(sum - view.step.unprofiled)).toBeLessThanOrEqual(
          1e-6 * Math.max(1, view.step.unprofiled),
        );
        for (const ns of Object.values(view.time)) expect(ns).toBeGreaterThanOrEqual(-1e-6);
        const verdict = judge(view);
        expect(verdict.confidence).toBeGreaterThanOrEqual(0);
        expect(verdict.confidence).toBeLessThanOrEqual(1);
        const run = {
          ranks: [view],
          verdict: { bottleneck: verdict.bottleneck, confidence: verdict.confidence },
          across: null,
          gpus: new Map(),
          captured: new Map(),
          hostLines: [],
          job: UNKNOWN_JOB,
          evidence: NO_EVIDENCE,
        };
        const { findings, problems } = runRules(RULES, run);
        expect(problems).toEqual([]);
        for (const { speedup, saving_ms } of findings) {
          if (speedup === null) continue;
          expect(speedup.low).toBeLessThanOrEqual(speedup.likely);
          expect(speedup.likely).toBeLessThanOrEqual(speedup.high);
          expect(Number.isFinite(speedup.high)).toBe(true);
          expect(saving_ms).toBeGreaterThanOrEqual(0);
        }
      }),
      { numRuns: cases(100, 500) },
    );
  });

  it('is compared with others without failing', () => {
    fc.assert(
      fc.property(fc.array(trace, { minLength: 2, maxLength: 4 }), (texts) => {
        const views = texts.map((t, rank) => diagnoseText(t, rank)).filter((v) => v !== null);
        const compared = compareRanks(
          views.map((v) => ({
            rank: v.rank,
            host: null,
            coordinates: null,
            worldSize: null,
            facts: v.facts,
          })),
        );
        for (const late of compared?.late ?? []) expect(Number.isFinite(late.cost)).toBe(true);
        const { path, played } = compared ?? {};
        const onPath = path ? Object.values(path.time) : [];
        for (const ns of [...onPath, played?.withoutAny ?? 0, played?.withOverlap ?? 0]) {
          expect(ns).toBeGreaterThanOrEqual(0);
          expect(ns).toBeLessThan(Number.POSITIVE_INFINITY);
        }
      }),
      { numRuns: cases(25, 100) },
    );
  });
});
