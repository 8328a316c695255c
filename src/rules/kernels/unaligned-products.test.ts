import { describe, expect, it } from 'vitest';
import { drawView, expectGain, fires, H200, onDevice, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './unaligned-products.js';

const ONE_BY_ONE = 'cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1';
/** 12 ms of products of an odd vocabulary, 18 ms of others. */
const HEAD = `
  host 1  ProfilerStep#1 0-30200 | cudaLaunchKernel 10-20 #1 | cudaLaunchKernel 50-60 #2
  host 1  cudaDeviceSynchronize 80-30110
  gpu 7   ${ONE_BY_ONE} 100-12100 #1 | nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT 12100-30100 #2`;
const A100 = onDevice('NVIDIA A100-SXM4-80GB', 8, 0, 84_990_623_744);

const draw = (header: Record<string, unknown>, kernel = ONE_BY_ONE) =>
  drawView(steps(4, 30200, HEAD.replace(ONE_BY_ONE, kernel)), { unprofiledMs: 30.2, header });
const expected = { id: 'unaligned-products', addresses: 'gpu', unit: 'ms/step', placed: true } as const;

describe('unaligned products', () => {
  it('prices aligned products on an H200: a sixth of 12 ms is left', () => {
    expectGain(fires(rule, draw(H200), expected), 30.2 / 20.2);
  });

  it('promises less where aligned products use the same instructions', () => {
    expectGain(fires(rule, draw(A100), expected), 30.2 / 23);
  });

  it.each([
    'cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_32x3_nn_align2',
    'sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_tensor16x8x16_aligna4_alignc4_kernel',
    'cutlass_80_tensorop_s1688gemm_128x128_32x3_tn_align1',
  ])('%s is named without a predicted gain, because alignment was not measured there', (kernel) => {
    expect(fires(rule, draw(H200, kernel), expected).price).toBeNull();
  });

  it.each([
    'cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_32x3_nn_align8',
    'ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn',
    'cutlass_80_tensorop_s1688gemm_64x64_32x6_nn_align4',
    'cutlass_80_simt_sgemm_256x128_8x4_nn_align1',
    'sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel',
    'cutlass_80_tensorop_d884gemm_64x32_16x4_tn_align1',
    'cutlass_tensorop_bf16_s16816fprop_fixed_channels_bf16_256x64_32x4_nhwc_align4',
  ])('is silent about %s', (kernel) => {
    expect(silence(rule, draw(H200, kernel))).toMatch(/unaligned products are 0/);
  });
});
