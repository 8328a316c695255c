import { describe, expect, it } from 'vitest';
import { drawView, expectGain, expectGainBetween, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './nchw-convolutions.js';

const CONVOLUTION = 'sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc';
const TO_NHWC = 'void cudnn::ops::nchwToNhwcKernel<__nv_bfloat16, __nv_bfloat16, float, false, true>';
const NORM =
  'void at::native::batch_norm_collect_statistics_kernel<at::native::InvStd, c10::BFloat16, float>';
/** 10 ms of transposes, 20 of convolutions, 10 of batch norms in NCHW. */
const NCHW = `
  host 1  ProfilerStep#1 0-40200 | cudaLaunchKernel 10-20 #1 | cudaLaunchKernel 30-40 #2 | cudaLaunchKernel 50-60 #3
  host 1  cudaDeviceSynchronize 70-40110
  gpu 7   ${TO_NHWC} 100-10100 #1 | ${CONVOLUTION} 10100-30100 #2 | ${NORM} 30100-40100 #3`;

const EXPECTED = { id: 'nchw-convolutions', addresses: 'gpu', unit: 'ms/step', placed: true } as const;

describe('channels_last', () => {
  it('prices a step without transposes and with a part of the batch norms', () => {
    const found = fires(rule, drawView(steps(4, 40200, NCHW)), EXPECTED);
    expectGainBetween(found, 40.2 / (20.2 + 10), 40.2 / 20.2);
    expect(found.evidence[0]).toMatchObject({ value: 10, dur_ns: 10e6 });
    expect(found.evidence[0]!.text).toMatch(/batch norms in NCHW take 10\.0 ms/);
  });

  it('prices exactly the transposes where there are no norms', () => {
    const view = drawView(steps(4, 40200, NCHW.replace(NORM, 'relu')));
    expectGain(fires(rule, view, EXPECTED), 40.2 / 30.2);
  });

  it.each([
    ['tensors are in channels_last', /transposes are 0/, NCHW.replace(TO_NHWC, 'relu')],
    ['nothing convolves', /no convolutions/, NCHW.replace(CONVOLUTION, 'nvjet_tst_256x128')],
    ['transposes are few', /transposes are 0\.5/, NCHW.replace('100-10100', '9900-10100')],
  ])('is silent when %s', (_, reason, drawing) => {
    expect(silence(rule, drawView(steps(4, 40200, drawing)))).toMatch(reason);
  });
});
