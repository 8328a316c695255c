import { describe, expect, it } from 'vitest';
import {
  drawView,
  expectGainBetween,
  fires,
  H200,
  onDevice,
  silence,
  V100,
} from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { loggedView } from '../../../test/helpers/logged-view.js';
import { rule } from './double-precision.js';

const PRODUCT = 'sm90_xmma_gemm_f64f64_f64f64_f64_nt_n_tilesize64x64x16_stage4_tensor16x8x8';
/** 20 ms of products and 10 ms of additions, in double. */
const DOUBLES = `
  host 1  ProfilerStep#1 0-30200 | cudaLaunchKernel 10-20 #1 | cudaLaunchKernel 50-60 #2
  host 1  cudaDeviceSynchronize 80-30110
  gpu 7   ${PRODUCT} 100-20100 #1 | vectorized_elementwise_kernel<2,CUDAFunctor_add<double>> 20100-30100 #2`;

const draw = (drawing: string, header: Record<string, unknown> = H200) =>
  drawView(steps(4, 30200, drawing), { unprofiledMs: 30.2, header });
const expected = { id: 'double-precision', addresses: 'gpu', unit: 'ms/step', placed: true } as const;

describe('double precision', () => {
  it('prices TF32 products and half the bytes: 2.7 and 5 ms are left', () => {
    expectGainBetween(fires(rule, draw(DOUBLES), expected), 30.2 / 8.2, 30.2 / 7.6);
  });

  it('prices plain fp32 where there is no TF32: 7.8 of 15.7 TFLOP/s on a V100', () => {
    const product = 'volta_dgemm_128x64_nt';
    const found = fires(rule, draw(DOUBLES.replace(PRODUCT, product), V100), expected);
    expectGainBetween(found, 30.2 / 13.5, 30.2 / 12.5);
  });

  it("reads the names of AMD's libraries: on an MI300X xf32 is four times as fast", () => {
    const mi300x = onDevice('AMD Instinct MI300X', 9, 4, 206_141_652_992);
    const product = 'Cijk_Ailk_Bljk_DB_MT64x64x16_MI16x16x4x1_SN';
    const found = fires(rule, draw(DOUBLES.replace(PRODUCT, product), mi300x), expected);
    expectGainBetween(found, 30.2 / 10.7, 30.2 / 9.7);
  });

  it('takes the type of the other products: under autocast they run in bf16', () => {
    const withBf16 = DOUBLES.replace(
      'cudaLaunchKernel 50-60 #2',
      'cudaLaunchKernel 50-60 #2 | cudaLaunchKernel 62-70 #3',
    ).replace('20100-30100 #2', '20100-25100 #2 | nvjet_sm90_tst_256x128_64x4_NNT 25100-30100 #3');
    // 1 ms of products in bf16, 2.5 ms of additions, 5 ms that were bf16 before.
    expectGainBetween(fires(rule, draw(withBf16), expected), 30.2 / 9.2, 30.2 / 8.4);
  });

  it('knows that cards without units for double compute it at a 64th of fp32', () => {
    const ada = onDevice('NVIDIA L40S', 8, 9, 47_810_936_832);
    expectGainBetween(fires(rule, draw(DOUBLES, ada), expected), 5, 30.2 / 5.1);
  });

  it('has no price where the rates of the device are not known', () => {
    const unknown = onDevice('a device of tomorrow', 13, 0, 2 ** 38);
    expect(fires(rule, draw(DOUBLES, unknown), expected).price).toBeNull();
  });

  it.each([
    [
      'nothing is double',
      /nothing runs in double/,
      DOUBLES.replace(PRODUCT, 'sgemm').replace('<double>', '<float>'),
    ],
    [
      'only a scalar is',
      /double-precision kernels are 3\.3%/,
      DOUBLES.replace(PRODUCT, 'sgemm')
        .replace('100-20100 #1', '100-29100 #1')
        .replace('20100-30100', '29100-30100'),
    ],
  ])('is silent when %s', (_, reason, drawing) => {
    expect(silence(rule, draw(drawing))).toMatch(reason);
  });

  describe('on a CPU', () => {
    const onCpu = loggedView({ compute: 90, idle_host: 10 });
    const view = { ...onCpu, facts: { ...onCpu.facts, hasGpuWork: false } };
    const run = (parameters: Readonly<Record<string, number>>) => ({
      captured: new Map([[0, { cores: null, loader: null, parameters }]]),
    });

    it('prices half of the operators’ time (by hand ×2.1)', () => {
      const found = fires(rule, view, { ...expected, placed: false }, run({ float64: 1e6 }));
      expectGainBetween(found, 1.6, 2);
      expect(found.price!.speedup.high).toBeGreaterThan(1.9);
    });

    it('is silent about other formats, and if none was recorded', () => {
      expect(silence(rule, view, run({ float32: 9e5, float64: 1e5 }))).toMatch(/not in double/);
      expect(silence(rule, view, run({}))).toMatch(/not recorded/);
    });
  });
});
