import { describe, expect, it } from 'vitest';
import { drawView, expectGain, fires, H200, silence, V100 } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rateRatio } from '../kit/matrix-rates.js';
import { rule } from './tf32-off.js';

/** 30 ms of products in plain fp32 and 10 ms of something else. */
const SGEMM = `
  host 1  ProfilerStep#1 0-40200 | aten::mm 0-30 | cudaLaunchKernel 10-20 #1 | aten::add 40-70 | cudaLaunchKernel 50-60 #2
  host 1  cudaDeviceSynchronize 80-40110
  gpu 7   ampere_sgemm_128x64_tn 100-30100 #1 | vectorized_elementwise_kernel 30100-40100 #2`;
/** The same kernels while Python needs 100 ms per step: the GPU is not what is waited for. */
const HOST_BOUND = `
  host 1  ProfilerStep#1 0-100000 | cudaLaunchKernel 10-20 #1 | cudaLaunchKernel 99000-99010 #2
  gpu 7   ampere_sgemm_128x64_tn 100-30100 #1 | vectorized_elementwise_kernel 99020-99030 #2`;

const EXPECTED = { id: 'tf32-off', addresses: 'gpu', unit: 'ms/step', placed: true } as const;

describe('TF32', () => {
  it('prices 30 ms of fp32 products at the rate of TF32', () => {
    const view = drawView(steps(4, 40200, SGEMM));
    // 494.5 against 67 TFLOP/s at best; products in training reach a little less of the former.
    const ratio = rateRatio(view, 'fp32', 'tf32', 'likely')!;
    expect(ratio).toBeGreaterThan(4);
    expect(ratio).toBeLessThan(7.4);
    const found = fires(rule, view, EXPECTED);
    expectGain(found, 40.2 / (10.2 + 30 / ratio));
    expect(found.evidence[0]).toMatchObject({ value: 30, dur_ns: 30e6 });
  });

  it('names it without a price, and with less confidence, on an unknown device', () => {
    const known = fires(rule, drawView(steps(4, 40200, SGEMM)), EXPECTED);
    const unknown = fires(rule, drawView(steps(4, 40200, SGEMM), { header: {} }), EXPECTED);
    expect(unknown.price).toBeNull();
    expect(unknown.confidence).toBeLessThan(known.confidence);
  });

  it.each([
    ['TF32 is on', /already on/, SGEMM.replace('ampere_sgemm', 'sm80_xmma_gemm_f32f32_tf32f32_f32_tn'), H200],
    ['products are in bf16', /products are 0/, SGEMM.replace('ampere_sgemm', 'nvjet_tst'), H200],
    ['the device has no TF32', /no TF32/, SGEMM, V100],
    ['the host holds the step up', /something else holds it up/, HOST_BOUND, H200],
  ])('is silent when %s', (_, reason, drawing, header) => {
    const every = drawing === HOST_BOUND ? 100000 : 40200;
    expect(silence(rule, drawView(steps(4, every, drawing), { header }))).toMatch(reason);
  });
});
