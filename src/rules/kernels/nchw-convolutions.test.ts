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

  const norms = (operator: string, kernels: string) => `
  host 1  ProfilerStep#1 0-40200 | cudaLaunchKernel 10-20 #1 | cudaLaunchKernel 30-40 #2 | ${operator} 45-65
  host 1  cudaLaunchKernel 50-60 #3 | cudaDeviceSynchronize 70-40110
  gpu 7   ${TO_NHWC} 100-10100 #1 | ${CONVOLUTION} 10100-${kernels}-40100 #3`;
  const GROUP_NORM = 'void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<float>';

  it('adds copies around a few group norms to the price', () => {
    // 1 ms of group norms becomes 3.6.
    const view = drawView(
      steps(4, 40200, norms('aten::native_group_norm', `39100 #2 | ${GROUP_NORM} 39100`)),
      { unprofiledMs: 40.2 },
    );
    expectGain(fires(rule, view, EXPECTED), 40.2 / (30.2 + 2.6));
  });

  it('counts the same kernels of layer norms as no group norm', () => {
    const view = drawView(
      steps(4, 40200, norms('aten::native_layer_norm', `34100 #2 | ${GROUP_NORM} 34100`)),
    );
    expectGain(fires(rule, view, EXPECTED), 40.2 / 30.2);
  });

  it.each([
    ['aten::native_group_norm', GROUP_NORM],
    ['aten::native_group_norm_backward', GROUP_NORM],
    ['aten::instance_norm', 'void cudnn::bn_fw_tr_1C11_kernel_NCHW<__half, float, int, 512, true, 1, true>'],
  ])('is silent when %s outweighs the transposes', (operator, kernel) => {
    const view = drawView(steps(4, 40200, norms(operator, `35100 #2 | ${kernel} 35100`)));
    expect(silence(rule, view)).toMatch(/instance norms \(5\.00 ms\) work on NCHW memory only/);
  });

  describe('takes batch norms in backward', () => {
    const drawing = norms(
      'aten::cudnn_batch_norm_backward',
      '35100 #2 | void cudnn::bn_bw_1C11_kernel_new<__half> 35100',
    );
    const withNorms = (calls: string) => drawView(steps(4, 40200, `${drawing}\n host 1  ${calls}`));

    it('for instance norms where most are', () => {
      const view = withNorms('aten::instance_norm 2-8 | aten::batch_norm 3-7');
      expect(silence(rule, view)).toMatch(/instance norms \(5\.00 ms\)/);
    });

    it('for batch norms where few are instance norms', () => {
      const view = withNorms('aten::instance_norm 2-4 | aten::batch_norm 3-4 | aten::batch_norm 5-6 x3@1');
      expectGain(fires(rule, view, EXPECTED), 40.2 / 30.2);
    });
  });

  it('leaves batch norms of cuDNN as they are', () => {
    const view = drawView(
      steps(
        4,
        40200,
        NCHW.replace(NORM, 'void cudnn::bn_fw_tr_1C11_kernel_NCHW<__half, float, int, 512, true, 1, true>'),
      ),
    );
    expectGain(fires(rule, view, EXPECTED), 40.2 / 30.2);
  });

  it('names the 3-d layout, whose gain was not measured', () => {
    const view = drawView(steps(4, 40200, `${NCHW}\n host 1  aten::conv3d 25-45`));
    const found = fires(rule, view, EXPECTED);
    expect(found.price).toBeNull();
    expect(found.fix!.code).toMatch(/torch\.channels_last_3d/);
  });

  it('is silent about 1-d convolutions, for which there is no such layout', () => {
    const view = drawView(steps(4, 40200, `${NCHW}\n host 1  aten::conv1d 25-45`));
    expect(silence(rule, view)).toMatch(/1-D convolutions/);
  });

  it.each([
    ['tensors are in channels_last', /transposes are 0/, NCHW.replace(TO_NHWC, 'relu')],
    ['nothing convolves', /no convolutions/, NCHW.replace(CONVOLUTION, 'nvjet_tst_256x128')],
    ['transposes are few', /transposes are 0\.5/, NCHW.replace('100-10100', '9900-10100')],
  ])('is silent when %s', (_, reason, drawing) => {
    expect(silence(rule, drawView(steps(4, 40200, drawing)))).toMatch(reason);
  });
});
