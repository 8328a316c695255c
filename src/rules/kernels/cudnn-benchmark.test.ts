import { describe, expect, it } from 'vitest';
import { drawView, fires, silence } from '../../../test/helpers/draw-run.js';
import { inTurn, steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './cudnn-benchmark.js';

const CONVOLUTION = 'sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc';
const step = (convolution: number) => `
  host 1  ProfilerStep#1 0-40200 | cudaLaunchKernel 10-20 #1 | cudaLaunchKernel 30-40 #2
  host 1  cudaDeviceSynchronize 50-40110
  gpu 7   ${CONVOLUTION} 100-${convolution + 100} #1 | relu ${convolution + 100}-40100 #2`;

describe('cudnn.benchmark', () => {
  it('finds convolutions that are most of every step', () => {
    const expected = { id: 'cudnn-benchmark', addresses: 'gpu', unit: 'ms/step', placed: true } as const;
    const found = fires(rule, drawView(steps(4, 40200, step(30000))), expected);
    expect(found.evidence[0]).toMatchObject({ value: 30, dur_ns: 30e6 });
    expect(found.price).toBeNull();
    // The flag is not in the trace.
    expect(found.confidence).toBeLessThanOrEqual(0.5);
  });

  it('is silent when convolutions are a small part', () => {
    expect(silence(rule, drawView(steps(4, 40200, step(4000))))).toMatch(/convolutions are/);
  });

  it('is silent when there are none', () => {
    const drawing = step(30000).replace(CONVOLUTION, 'nvjet_tst_256x128');
    expect(silence(rule, drawView(steps(4, 40200, drawing)))).toMatch(/convolutions are 0/);
  });

  it('is silent when shapes change from step to step', () => {
    const longer = step(30000)
      .replaceAll('40200', '50200')
      .replaceAll('40110', '50110')
      .replaceAll('40100', '50100');
    const drawing = inTurn([step(30000), 40200], [longer, 50200], [step(30000), 40200], [longer, 50200]);
    expect(silence(rule, drawView(drawing))).toMatch(/shapes change/);
  });
});
