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
/** 30 ms of products in TF32, 10 ms of sorting, which no type changes. */
const WIDE = `
  host 1  ProfilerStep#1 0-40200 | aten::mm 0-30 | cudaLaunchKernel 10-20 #1 | aten::add 40-70 | cudaLaunchKernel 50-60 #2
  host 1  cudaDeviceSynchronize 80-40110
  gpu 7   ${TF32} 100-30100 #1 | radixSortKVInPlace 30100-40100 #2`;
const draw = (kernel: string, header: Record<string, unknown> = H200) =>
  drawView(steps(4, 40200, WIDE.replace(TF32, kernel)), { header });
/** With another kernel instead of sorting. */
const drawWith = (kernel: string, product = TF32) =>
  drawView(steps(4, 40200, WIDE.replace(TF32, product).replace('radixSortKVInPlace', kernel)));

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

  const ln = 'void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, false>';
  const gn = 'elementwise_kernel<128, 2, gpu_kernel_impl_nocast<GroupNormKernelImplInternal<float>>>';
  const gnBackward =
    'elementwise_kernel<128, 2, gpu_kernel_impl_nocast<GroupNormBackwardKernelImplInternal<float>>>';
  it.each([
    ['a layer norm is cast once: 6 bytes per value in addition to its own 8', ln, 10 * 1.75],
    ['a group norm is cast twice: 12 bytes in addition to 8', gn, 10 * 2.5],
    ['and in backward: 12 in addition to 12', gnBackward, 10 * 2],
    [
      'batch norm of NCHW tensors is slower in 16 bit',
      'cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float>',
      10 * 1.37,
    ],
    ['elementwise kernels move fewer bytes', 'vectorized_elementwise_kernel', 10 * 0.6],
    ['transposes too', 'nchwToNhwcKernel<float, float>', 10 * 0.85],
  ])('knows that %s', (_, kernel, left) => {
    const view = drawWith(kernel);
    const ratio = rateRatio(view, 'tf32', 'bf16', 'likely')!;
    expectGain(fires(rule, view, EXPECTED), 40.2 / (0.2 + left + 30 / ratio));
  });

  it('leaves elementwise kernels at fp32 between norms that are kept in it', () => {
    const both = WIDE.replace(
      'radixSortKVInPlace 30100-40100 #2',
      `${ln} 30100-34100 #2 | mul_elementwise 34100-40100 #3`,
    ).replace('cudaLaunchKernel 50-60 #2', 'cudaLaunchKernel 50-55 #2 | cudaLaunchKernel 56-60 #3');
    const view = drawView(steps(4, 40200, both));
    const ratio = rateRatio(view, 'tf32', 'bf16', 'likely')!;
    expectGain(fires(rule, view, EXPECTED), 40.2 / (0.2 + 4 * 1.75 + 6 + 30 / ratio));
  });

  it('expects 0.68 of that ratio from convolutions', () => {
    const view = draw('sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw');
    expectGain(
      fires(rule, view, EXPECTED),
      40.2 / (10.2 + 30 / (0.68 * rateRatio(view, 'tf32', 'bf16', 'likely')!)),
    );
  });

  it('counts the host time of casts where the host is next: 25 µs for each of 100 products', () => {
    const many = drawView(
      steps(
        4,
        20000,
        `
        host 1  ProfilerStep#1 0-20000 | aten::mm 0-90 x100@100 | cudaLaunchKernel 50-60 #1 x100@100
        host 1  cudaDeviceSynchronize 10000-19990
        gpu 7   ${TF32} 80-270 #1 x100@199`,
      ),
      { unprofiledMs: 20 },
    );
    const found = fires(rule, many, EXPECTED);
    expectGain(found, 20 / (10 + 2.5 + 0.08));
  });

  it('recommends fp16 with a GradScaler on a device without bf16', () => {
    const wide = WIDE.replace(TF32, 'volta_sgemm_128x64_tn').replace('aten::add', 'AddBackward0');
    const view = drawView(steps(4, 40200, wide), { header: V100 });
    const found = fires(rule, view, EXPECTED);
    expectGain(found, 40.2 / (10.2 + 30 / rateRatio(view, 'fp32', 'fp16', 'likely')!));
    expect(found.fix!.code).toMatch(/GradScaler/);
  });

  it('shows no loss if nothing is trained', () => {
    const { fix } = fires(rule, draw(TF32), EXPECTED);
    expect(fix!.code).toContain('output = model(x)');
    expect(fix!.code).not.toContain('backward');
  });

  it('has no price where the device is not known', () => {
    expect(fires(rule, draw(TF32, {}), EXPECTED).price).toBeNull();
  });

  it.each([
    ['products are in bf16', /is 0\.0% of the step/, draw('nvjet_tst_256x128_64x4')],
    ['products are in fp16', /is 0\.0% of the step/, draw('ampere_fp16_s16816gemm_fp16_128x128')],
    ['the device has no tensor cores', /no 16-bit tensor cores/, draw('maxwell_sgemm_128x64_tn', P100)],
  ])('is silent when %s', (_, reason, view) => {
    expect(silence(rule, view)).toMatch(reason);
  });
});
