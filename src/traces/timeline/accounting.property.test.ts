import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cases } from '../../../test/helpers/cases.js';
import { readTrace } from '../../../test/helpers/read-trace.js';
import { lengthOf, type Spans, union } from '../../base/intervals.js';
import { TIME_CLASSES, type TimeByClass } from '../../facts/time-class.js';
import { Trace } from '../../model/trace.js';
import { analyzeTrace } from '../analyze-trace.js';
import { classifyNames } from '../kernels/classify.js';
import { accountParts, accountTime } from './accounting.js';
import { orderGpuWork } from './gpu-work.js';
import { findHostSpans } from './host-spans.js';

/** Any events: overlapping, without launch, without duration, out of order. */
const time = fc.integer({ min: 0, max: 300 });
const span = { ts: time, dur: fc.integer({ min: 0, max: 60 }) };
const HOST_NAMES: readonly (readonly [cat: string, name: string])[] = [
  ['cpu_op', 'aten::mm'],
  ['cpu_op', 'gloo:all_reduce'],
  ['user_annotation', 'enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__'],
  ['user_annotation', 'ProfilerStep#1'],
  ['user_annotation', 'ProfilerStep#2'],
  ['user_annotation', 'ProfilerStep#3'],
  ['user_annotation', 'Optimizer.step#Adam.step'],
  ['cuda_runtime', 'cudaDeviceSynchronize'],
  ['cuda_driver', 'cuModuleLoadData'],
  ['python_function', 'train.py(3): step'],
  ['cpu_op', 'compile_inner (dynamo_timed)'],
];
const GPU_NAMES: readonly (readonly [cat: string, name: string])[] = [
  ['kernel', 'ampere_sgemm_128x64_tn'],
  ['kernel', 'ncclDevKernel_AllReduce_Sum_f32_RING_LL'],
  ['gpu_memcpy', 'Memcpy HtoD (Pinned -> Device)'],
  ['gpu_memset', 'Memset (Device)'],
];

const event = (cat: string, name: string, pid: number, tid: number, at: object, args: object) => ({
  ph: 'X',
  cat,
  name,
  pid,
  tid,
  args,
  ...at,
});
const hostSpan = fc
  .record({ ...span, of: fc.constantFrom(...HOST_NAMES), thread: fc.integer({ min: 1, max: 3 }) })
  .map(({ of, thread, ...at }) => event(...of, 100, thread, at, {}));
const correlation = fc.integer({ min: 1, max: 8 });
const launch = fc
  .record({ ...span, correlation, thread: fc.integer({ min: 1, max: 2 }) })
  .map(({ correlation, thread, ...at }) =>
    event('cuda_runtime', 'cudaLaunchKernel', 100, thread, at, { correlation }),
  );
const gpuSpan = fc
  .record({
    ...span,
    of: fc.constantFrom(...GPU_NAMES),
    stream: fc.integer({ min: 7, max: 9 }),
    correlation: fc.option(correlation),
  })
  .map(({ of, stream, correlation, ...at }) =>
    event(...of, 0, stream, at, { stream, device: 0, ...(correlation === null ? {} : { correlation }) }),
  );
const anyTrace = fc
  .tuple(
    fc.array(hostSpan, { maxLength: 12 }),
    fc.array(launch, { maxLength: 6 }),
    fc.array(gpuSpan, { maxLength: 12 }),
  )
  .map((lists) => new Trace(readTrace(JSON.stringify({ traceEvents: lists.flat() }), [1 << 20], 'js').trace));

const sum = (time: TimeByClass) => TIME_CLASSES.reduce((ns, c) => ns + time[c], 0);

describe('any trace', () => {
  it('every instant of a window is in exactly one class, in any trace, also in parts', () => {
    const window = fc.tuple(time, time, time).map((t) => t.toSorted((a, b) => a - b).map((us) => us * 1000));
    fc.assert(
      fc.property(anyTrace, window, (trace, bounds) => {
        const work = orderGpuWork(trace);
        const host = findHostSpans(trace, work);
        const [from, , to] = bounds as [number, number, number];
        const accounting = accountTime(trace, work, classifyNames(trace), host, from, to);
        expect(sum(accounting.total)).toBe(to - from);
        const all = TIME_CLASSES.map((c) => accounting.spans[c]).reduce(union) as Spans;
        expect(lengthOf(all)).toBe(to - from);
        const parts = accountParts(accounting, bounds);
        for (const c of TIME_CLASSES) expect(parts[0]![c] + parts[1]![c]).toBe(accounting.total[c]);
      }),
      { numRuns: cases(200, 500) },
    );
  });

  it('the classes add up to the step in any trace, in the mean and for each step', () => {
    const range = fc.constantFrom(null, { first: 2, last: null }, { first: null, last: 1 });
    fc.assert(
      fc.property(anyTrace, range, (trace, steps) => {
        const facts = analyzeTrace(trace, { steps });
        if (!facts) return;
        expect(sum(facts.time)).toBeCloseTo(facts.steps.recorded, 3);
        expect(facts.timePerStep.map(sum)).toEqual(facts.steps.periods);
        for (const period of facts.steps.periods) expect(period).toBeGreaterThanOrEqual(0);
        expect(facts.copies.toDevice + facts.copies.toHost).toBeLessThanOrEqual(facts.time.copy * 2 + 1e-6);
      }),
      { numRuns: cases(200, 500) },
    );
  });
});
