import { describe, expect, it } from 'vitest';
import { drawJson, drawTrace } from '../../../test/helpers/draw-trace.js';
import { readTrace } from '../../../test/helpers/read-trace.js';
import { Trace } from '../../model/trace.js';
import { classifyNames } from '../kernels/classify.js';
import { gpuUnions } from './gpu-unions.js';
import { orderGpuWork } from './gpu-work.js';

/** In microseconds. */
function unionsIn(trace: Trace) {
  const unions = gpuUnions(trace, orderGpuWork(trace), classifyNames(trace));
  if (!unions) return null;
  const { span, compute, nonCompute, idle, commOverlap } = unions;
  return {
    span: span / 1000,
    compute: compute / 1000,
    nonCompute: nonCompute / 1000,
    idle: idle / 1000,
    commOverlap,
  };
}
const unionsOf = (drawing: string) => unionsIn(drawTrace(drawing));

const NCCL = 'ncclDevKernel_AllReduce';
const TWO_STEPS = `
  host 1  ProfilerStep#1 0-50 | cudaLaunchKernel 10-12 #1 | ProfilerStep#2 50-100 | cudaLaunchKernel 60-62 #2
  host 1  cudaLaunchKernel 110-112 #3
  gpu 7   gemm 20-40 #1 | gemm 70-90 #2 | gemm 120-140 #3`;

describe('unions of GPU work', () => {
  it('count computing first, and everything from the first work to the last', () => {
    const drawing = `
      host 1  aten::mm 0-10
      gpu 7   gemm 10-30 | gemm 60-80
      gpu 20  ${NCCL} 20-50
      gpu 9   Memcpy HtoD (Pinned -> Device) 45-55 | Memset (Device) 90-100`;
    expect(unionsOf(drawing)).toEqual({
      span: 90,
      compute: 40,
      nonCompute: 35,
      idle: 15,
      commOverlap: expect.closeTo(1 / 3, 9),
    });
  });

  it('unions of GPU work have no overlap without communication', () => {
    expect(unionsOf('gpu 7  gemm 0-10')).toMatchObject({ compute: 10, commOverlap: null });
  });

  it('unions of GPU work are null without GPU work', () =>
    expect(unionsOf('host 1  aten::mm 0-10')).toBeNull());

  it('leave out work launched after the last of two or more steps', () => {
    expect(unionsOf(TWO_STEPS)).toMatchObject({ span: 70, compute: 40, idle: 30 });
  });

  it('take all work when there is one step only', () => {
    expect(unionsOf(TWO_STEPS.replace('ProfilerStep#2', 'train'))).toMatchObject({ span: 120, compute: 60 });
  });

  it('leave out work whose launch is missing, but not work without a correlation id', () => {
    expect(unionsOf(TWO_STEPS.replace('gemm 20-40 #1', 'gemm 20-40 #9'))).toMatchObject({
      span: 20,
      compute: 20,
    });
    expect(unionsOf(TWO_STEPS.replace('gemm 20-40 #1', 'gemm 20-40'))).toMatchObject({
      span: 70,
      compute: 40,
    });
  });
});

describe('recorded synchronization', () => {
  /** CUPTI's records are on GPU tracks. −1: no stream. */
  const withSync = (drawing: string, stream: number, correlation: number) => {
    const document = JSON.parse(drawJson(drawing)) as { traceEvents: object[] };
    const args = { stream, correlation, device: 0, 'wait on stream': stream, cuda_sync_kind: 'Stream Sync' };
    const place = { pid: 0, tid: stream, ts: 1085, dur: 20 };
    document.traceEvents.push({ ph: 'X', cat: 'cuda_sync', name: 'Stream Sync', ...place, args });
    return unionsIn(new Trace(readTrace(JSON.stringify(document)).trace));
  };

  it('recorded synchronization of a stream counts as work that does not compute', () => {
    expect(withSync(TWO_STEPS, 7, 2)).toMatchObject({ span: 85, compute: 40, nonCompute: 15, idle: 30 });
  });

  it('recorded synchronization of no stream does not count', () => {
    expect(withSync(TWO_STEPS, -1, 2)).toMatchObject({ span: 70, nonCompute: 0 });
  });

  it('called after the last step, or by no recorded call, does not count', () => {
    expect(withSync(TWO_STEPS, 7, 3)).toMatchObject({ span: 70, nonCompute: 0 });
    expect(withSync(TWO_STEPS, 7, 99)).toMatchObject({ span: 70, nonCompute: 0 });
  });
});
