import { describe, expect, it } from 'vitest';
import { drawView, expectGain, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './unfused-elementwise.js';

/** The GPU is busy: 18 kernels of 1 ms that only read and write, then a product of 2 ms. */
const CHAINS = `
  host 1  ProfilerStep#1 0-20200 | cudaLaunchKernel 10-15 #1 x19@10 | cudaDeviceSynchronize 300-20150
  gpu 7   mul_elementwise 100-1100 #1 x18@1000 | nvjet_tst_64x64 18100-20100 #19`;

const draw = (drawing: string) => drawView(steps(4, 20200, drawing));

/** Matrix work decides, but between two products are twelve kernels of 0.5 ms: a norm written by hand. */
const BETWEEN = `
  host 1  ProfilerStep#1 0-20200 | cudaLaunchKernel 10-15 #1 x14@10 | cudaDeviceSynchronize 300-20150
  gpu 7   nvjet_tst_64x64 100-7100 #1 | mul_elementwise 7100-7600 #2 x12@500 | nvjet_tst_64x64 13100-20100 #14`;

/** The same chain, but the first and the last launch come late. */
const WAITING = `
  host 1  ProfilerStep#1 0-20200 | cudaLaunchKernel 2910-2915 #1 x13@10 | cudaDeviceSynchronize 3100-13120
  host 1  cudaLaunchKernel 15850-15855 #14 | cudaDeviceSynchronize 15860-20150
  gpu 7   nvjet_tst_64x64 3000-7100 #1 | mul_elementwise 7100-7600 #2 x12@500 | nvjet_tst_64x64 15900-20100 #14`;

describe('unfused elementwise kernels', () => {
  it('prices a long chain as one kernel: 18 ms become 2.16, and 2 ms of products stay', () => {
    const expected = { id: 'unfused-elementwise', addresses: 'gpu', unit: 'ms/step', placed: false } as const;
    const view = drawView(steps(4, 20200, CHAINS), { unprofiledMs: 20.2 });
    expectGain(fires(rule, view, expected), 20.2 / (2.2 + 0.12 * 18));
  });

  it('prices long chains between products: 6 ms become 0.6, and 14 ms of products stay', () => {
    const expected = { id: 'unfused-elementwise', addresses: 'gpu', unit: 'ms/step', placed: false } as const;
    const view = drawView(steps(4, 20200, BETWEEN), { unprofiledMs: 20.2 });
    const finding = fires(rule, view, expected);
    expectGain(finding, 20.2 / (14.2 + 1.25 * 0.5));
    expect(finding.evidence[0]!.text).toMatch(/^12 elementwise, .* in 1 chains? take 6.00 ms/);
  });

  it.each([
    ['group norms', 'aten::native_group_norm', 'RowwiseMomentsCUDAKernel'],
    ['batch norms', 'aten::native_batch_norm', 'batch_norm_collect_statistics_kernel'],
  ])(
    'takes chains with %s for twice their longest kernel: statistics need a pass of their own',
    (_, operator, kernel) => {
      const drawing = BETWEEN.replace(
        '#1 x14@10',
        `#1 x13@10 | ${operator} 138-148 | cudaLaunchKernel 140-145 #14`,
      )
        .replace('nvjet_tst_64x64 13100-20100 #14', `${kernel} 13100-13600 #14`)
        .concat(' | nvjet_tst_64x64 13600-20100 #15')
        .replace('cudaDeviceSynchronize 300', 'cudaLaunchKernel 160-165 #15 | cudaDeviceSynchronize 300');
      const view = drawView(steps(4, 20200, drawing), { unprofiledMs: 20.2 });
      const expected = {
        id: 'unfused-elementwise',
        addresses: 'gpu',
        unit: 'ms/step',
        placed: false,
      } as const;
      expectGain(fires(rule, view, expected), 20.2 / (13.7 + 2 * 0.5));
    },
  );

  it.each([
    [
      'chains are short: three kernels may take as long when merged',
      /surely saves 0/,
      BETWEEN.replace('7600 #2 x12@500', '9100 #2 x3@2000')
        .replaceAll('#14', '#5')
        .replace('x14@10', 'x5@10'),
    ],
    [
      'they belong to the loss, which is not in the compiled model',
      /surely saves 0/,
      BETWEEN.replace('nvjet_tst_64x64 13100', 'cunn_SoftMaxForward<LogSoftMaxForwardEpilogue> 13100'),
    ],
    ['the GPU waits for launches', /waits for the host/, WAITING],
    ['matrix work decides', /surely saves 0/, CHAINS.replace('mul_elementwise', 'nvjet_tst_64x64')],
    [
      'the model is compiled',
      /already compiled/,
      CHAINS.replace('0-20200', '0-20200 | Torch-Compiled Region: 0/0 0-20199'),
    ],
  ])('is silent when %s', (_, reason, drawing) => {
    expect(silence(rule, draw(drawing))).toMatch(reason);
  });
});
