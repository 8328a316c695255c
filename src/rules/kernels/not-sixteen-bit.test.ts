import { describe, expect, it } from 'vitest';
import {
  drawView,
  expectGain,
  expectGainBetween,
  fires,
  H200,
  P100,
  silence,
  V100,
} from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rateRatio } from '../kit/matrix-rates.js';
import { rule } from './not-sixteen-bit.js';

const TF32 = 'sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x16';
/** 30 ms of products in TF32, 10 ms of something else. */
const WIDE = `
  host 1  ProfilerStep#1 0-40200 | aten::mm 0-30 | cudaLaunchKernel 10-20 #1 | aten::add 40-70 | cudaLaunchKernel 50-60 #2
  host 1  cudaDeviceSynchronize 80-40110
  gpu 7   ${TF32} 100-30100 #1 | vectorized_elementwise_kernel 30100-40100 #2`;
const draw = (kernel: string, header: Record<string, unknown> = H200) =>
  drawView(steps(4, 40200, WIDE.replace(TF32, kernel)), { header });

const EXPECTED = { id: 'not-sixteen-bit', addresses: 'gpu', unit: 'ms/step', placed: true } as const;

describe('16 bit', () => {
  it('prices 30 ms of TF32 products at the rate of bf16', () => {
    const view = draw(TF32);
    const ratio = rateRatio(view, 'tf32', 'bf16', 'likely')!;
    const found = fires(rule, view, EXPECTED);
    expect(ratio).toBeGreaterThan(1.8);
    expect(ratio).toBeLessThan(3.5);
    expectGain(found, 40.2 / (10.2 + 30 / ratio));
    expect(found.evidence[0]).toMatchObject({ value: 30, dur_ns: 30e6 });
    expect(found.title).toMatch(/TF32, not in bf16/);
  });

  it('prices fp32 attention at the rate of 16-bit kernels', () => {
    const found = fires(rule, draw('fmha_cutlassF_f32_aligned_64x64_rf_sm80'), EXPECTED);
    expectGainBetween(found, 40.2 / (10.2 + 30 / 4), 40.2 / (10.2 + 30 / 16));
  });

  it('recommends fp16 with a GradScaler on a device without bf16', () => {
    const view = draw('volta_sgemm_128x64_tn', V100);
    const found = fires(rule, view, EXPECTED);
    expectGain(found, 40.2 / (10.2 + 30 / rateRatio(view, 'fp32', 'fp16', 'likely')!));
    expect(found.fix!.code).toMatch(/GradScaler/);
  });

  it('has no price where the device is not known', () => {
    expect(fires(rule, draw(TF32, {}), EXPECTED).price).toBeNull();
  });

  it.each([
    ['products are in bf16', /is 0\.0 % of the step/, draw('nvjet_tst_256x128_64x4')],
    ['products are in fp16', /is 0\.0 % of the step/, draw('ampere_fp16_s16816gemm_fp16_128x128')],
    ['the device has no tensor cores', /no 16-bit tensor cores/, draw('maxwell_sgemm_128x64_tn', P100)],
  ])('is silent when %s', (_, reason, view) => {
    expect(silence(rule, view)).toMatch(reason);
  });
});
