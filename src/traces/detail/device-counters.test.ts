import { describe, expect, it } from 'vitest';
import { readTrace } from '../../../test/helpers/read-trace.js';
import { Trace } from '../../model/trace.js';
import { analyzeTrace } from '../analyze-trace.js';

interface Sampled {
  readonly name: string;
  readonly value: (at: number) => number;
  readonly count?: number;
}

/** Six steps of 1000 µs. In each a kernel runs for the first 600 µs; counters are sampled every 100 µs. */
function countersOf(...sampled: readonly Sampled[]) {
  const steps = Array.from({ length: 6 }, (_, i) => i * 1000);
  const work = steps.flatMap((ts, i) => [
    { ph: 'X', cat: 'user_annotation', name: `ProfilerStep#${i}`, pid: 1, tid: 1, ts, dur: 1000 },
    {
      ph: 'X',
      cat: 'cuda_runtime',
      name: 'cudaLaunchKernel',
      pid: 1,
      tid: 1,
      ts: ts + 1,
      dur: 5,
      args: { correlation: i + 1 },
    },
    {
      ph: 'X',
      cat: 'kernel',
      name: 'sm90_gemm',
      pid: 0,
      tid: 7,
      ts: ts + 10,
      dur: 600,
      args: { correlation: i + 1, device: 0, stream: 7 },
    },
  ]);
  const samples = sampled.flatMap(({ name, value, count = 60 }) =>
    Array.from({ length: count }, (_, i) => ({
      ph: 'C',
      name,
      pid: 'GPU 0 Counters',
      ts: 10 + i * 100,
      args: { '': value(i % 10) },
    })),
  );
  const { trace } = readTrace(JSON.stringify({ schemaVersion: 1, traceEvents: [...work, ...samples] }));
  return analyzeTrace(new Trace(trace), { steps: null })!.counters;
}

const whileBusy = (percent: number) => (at: number) => (at < 6 ? percent : 0);

describe('counters that torch 2.15 samples on the GPU', () => {
  it('are averaged over the time in which the GPU computes', () => {
    const counters = countersOf(
      { name: 'SM Active (%)', value: whileBusy(90) },
      { name: 'HBM BW (%)', value: whileBusy(40) },
      {
        name: 'sm__inst_executed_pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed',
        value: whileBusy(25),
      },
    );
    expect(counters!.sm).toBeCloseTo(0.9, 2);
    expect(counters!.dram).toBeCloseTo(0.4, 2);
    expect(counters!.tensor).toBeCloseTo(0.25, 2);
  });

  it('are not used if they are no percentages, of another kind, impossible, or too few', () => {
    expect(countersOf({ name: 'Power (W)', value: () => 400 })).toBeNull();
    expect(countersOf({ name: 'SM Active', value: whileBusy(90) })).toBeNull();
    expect(countersOf({ name: 'SM Active (%)', value: () => 1e9 })).toBeNull();
    expect(countersOf({ name: 'SM Active (%)', value: whileBusy(90), count: 8 })).toBeNull();
    expect(countersOf()).toBeNull();
  });
});
