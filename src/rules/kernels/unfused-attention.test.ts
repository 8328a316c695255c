import { describe, expect, it } from 'vitest';
import { drawView, expectGainBetween, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule as tf32Off } from './tf32-off.js';
import { rule } from './unfused-attention.js';

const GEMM = 'nvjet_tst_256x128_64x4';
/** Six linear layers of 2 ms, then attention by hand: product, softmax, product, 10 ms each. */
const BY_HAND = `
  host 1  ProfilerStep#1 0-42200 | aten::linear 0-9 x6@10 | aten::bmm 100-130 | aten::softmax 140-170 | aten::bmm 180-210
  host 1  cudaLaunchKernel 2-8 #1 x6@10 | cudaLaunchKernel 110-120 #7 | cudaLaunchKernel 150-160 #8
  host 1  cudaLaunchKernel 190-200 #9 | cudaDeviceSynchronize 220-42110
  gpu 7   ${GEMM} 100-2100 #1 x6@2000 | ${GEMM} 12100-22100 #7 | softmax_warp_forward 22100-32100 #8
  gpu 7   ${GEMM} 32100-42100 #9`;
const FUSED = `
  host 1  ProfilerStep#1 0-42200 | aten::linear 0-9 x6@10 | aten::scaled_dot_product_attention 100-130
  host 1  cudaLaunchKernel 2-8 #1 x6@10 | cudaLaunchKernel 110-120 #7 | cudaDeviceSynchronize 140-42110
  gpu 7   ${GEMM} 100-2100 #1 x6@2000 | flash_fwd_kernel 12100-42100 #7`;
/** A classifier's softmax between two linear layers is no attention. */
const NO_ATTENTION = BY_HAND.replaceAll('aten::bmm', 'aten::mm');

const EXPECTED = { id: 'unfused-attention', addresses: 'gpu', unit: 'ms/step', placed: true } as const;

describe('fused attention', () => {
  it('keeps part of the products and removes everything between them', () => {
    const found = fires(rule, drawView(steps(4, 42200, BY_HAND)), EXPECTED);
    expectGainBetween(found, 42.2 / (12.2 + 20), 42.2 / 12.2);
    expect(found.evidence[0]).toMatchObject({ value: 30, dur_ns: 10e6 });
  });

  it('prices plain fp32 products by the FLOPs of a fused kernel in fp32, like the rest of the model', () => {
    const drawing = BY_HAND.replaceAll(GEMM, 'ampere_sgemm_128x64_tn');
    const found = fires(rule, drawView(steps(4, 42200, drawing)), EXPECTED);
    expectGainBetween(found, 42.2 / (12.2 + 20), 42.2 / 12.2);
  });

  it('keeps its products to itself: tf32-off counts only the linear layers', () => {
    const view = drawView(steps(4, 42200, BY_HAND.replaceAll(GEMM, 'ampere_sgemm_128x64_tn')));
    const found = fires(tf32Off, view, { ...EXPECTED, id: 'tf32-off' });
    expect(found.evidence[0]!.value).toBe(12);
  });

  it.each([
    ['kernels are fused', /runs in fused kernels/, FUSED],
    ['there is no attention', /no unfused attention found/, NO_ATTENTION],
  ])('is silent when %s', (_, reason, drawing) => {
    expect(silence(rule, drawView(steps(4, 42200, drawing)))).toMatch(reason);
  });
});
