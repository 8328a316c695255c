import { describe, expect, it } from 'vitest';
import { drawView, expectGain, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './dense-embedding-gradients.js';

const GATHER = 'void at::native::vectorized_gather_kernel<16, long>';
const FILL = 'void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>';
const ADAM =
  'void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>';
const BACKWARD = 'autograd::engine::evaluate_function: EmbeddingBackward0';

/** 0.2 ms of look-ups, 2 ms of zeros, 20 ms of AdamW, 18 ms of products. */
const DENSE = `
  host 1  ProfilerStep#1 0-40300 | aten::embedding 5-25 | cudaLaunchKernel 10-20 #1 | cudaLaunchKernel 30-40 #2
  host 1  ${BACKWARD} 45-75 | aten::embedding_dense_backward 48-70 | cudaLaunchKernel 50-60 #3
  host 1  Optimizer.step#AdamW.step 80-110 | cudaLaunchKernel 90-100 #4 | cudaDeviceSynchronize 120-40290
  gpu 7   ${GATHER} 80-280 #1 | gemm 280-18280 #2 | ${FILL} 18280-20280 #3 | ${ADAM} 20280-40280 #4`;

const EXPECTED = {
  id: 'dense-embedding-gradients',
  addresses: 'gpu',
  unit: 'ms/step',
  placed: true,
} as const;
const draw = (drawing: string, more = '') =>
  drawView(steps(4, 40300, drawing + more), { unprofiledMs: 40.3 });

describe('dense gradients of embeddings', () => {
  it('prices a table without its zeros and seven passes over it, with an update of the rows looked up', () => {
    const found = fires(rule, draw(DENSE), EXPECTED);
    // 2 ms of zeros and 14 of 20 ms of AdamW go; six times 0.2 ms come.
    expectGain(found, 40.3 / (40.3 - 2 - 14 + 6 * 0.2));
    expect(found.evidence[0]!.value).toBe(16);
    expect(found.evidence[0]!.text).toMatch(/at most 5\.0%/);
  });

  it('counts three passes of an optimizer without state', () => {
    const found = fires(rule, draw(DENSE.replace('AdamW', 'SGD')), EXPECTED);
    expectGain(found, 40.3 / (40.3 - 2 - 6 + 6 * 0.2));
  });

  it('adds the host time of a sparse update: where little else is done, it sets the pace', () => {
    const alone = `
      host 1  ProfilerStep#1 0-1640 | aten::embedding 5-25 | cudaLaunchKernel 10-20 #1
      host 1  ${BACKWARD} 45-75 | aten::embedding_dense_backward 48-70 | cudaLaunchKernel 50-60 #3
      host 1  Optimizer.step#AdamW.step 80-110 | cudaLaunchKernel 90-100 #4 | cudaDeviceSynchronize 120-1635
      gpu 7   ${GATHER} 15-35 #1 | ${FILL} 55-255 #3 | ${ADAM} 255-1630 #4`;
    const found = fires(rule, drawView(steps(4, 1640, alone), { unprofiledMs: 1.64 }), EXPECTED);
    expectGain(found, 1640 / (90 + 750 + 6 * 20 + 10));
  });

  it('promises little where a batch looks up much of the table', () => {
    const half = DENSE.replace('80-280', '80-2280').replace('280-18280', '2280-18280');
    const { speedup } = fires(rule, draw(half), EXPECTED).price!;
    expect(speedup.likely).toBeLessThan(1.1);
  });

  describe('on a CPU', () => {
    /** 0.1 ms of look-ups, 10 ms of backward, 50 ms of AdamW, 10 ms of products. */
    const onHost = (lookups = 100, sums = 10) => `
      host 1  ProfilerStep#1 0-70300 | aten::embedding 5-${5 + lookups} | aten::mm 3000-13000
      host 1  ${BACKWARD} 13000-23200 | aten::embedding_dense_backward 13010-23010 | aten::add_ 23050-${23050 + sums}
      host 1  Optimizer.step#AdamW.step 23300-70290`;
    const view = (drawing: string) => drawView(steps(4, 70300, drawing), { unprofiledMs: 70.3 });
    const expected = { ...EXPECTED, placed: false };

    it('prices the fill, which is the backward operator without what the rows take, and passes over the table', () => {
      const found = fires(rule, view(onHost()), expected);
      expectGain(found, 70.3 / (70.3 - 9.6 - Math.min(46.99, 0.8 * 7 * 9.6)));
      expect(found.evidence[0]!.text).toMatch(/backward takes 10\.0 ms, looking the rows up 0\.10 ms/);
    });

    it('is silent where a batch looks up much of the table, and where the gradient is dense', () => {
      expect(silence(rule, view(onHost(2600)))).toMatch(/no large embedding table/);
      const summed = onHost(100, 9000).replace('13000-23200', '13000-33200').replace('23300-', '33300-');
      expect(silence(rule, view(summed))).toMatch(/output layer/);
    });
  });

  it.each([
    ['nothing fills a table', /no large embedding table/, DENSE.replace(FILL, 'gemm')],
    [
      'another operator fills',
      /no large embedding table/,
      DENSE.replace('aten::embedding_dense', 'aten::index'),
    ],
    ['the table is small', /no large embedding table/, DENSE.replace('18280-20280', '18280-18290')],
    [
      'the table is a small part of the step',
      /the embedding table takes at least 4\.0%/,
      DENSE.replace('18280-20280', '18280-18480'),
    ],
  ])('is silent when %s', (_, reason, drawing) => {
    expect(silence(rule, draw(drawing))).toMatch(reason);
  });

  it('is silent where the table is an output layer too: its gradients are added', () => {
    const tied = `
      host 1  autograd::engine::evaluate_function: MmBackward0 76-79 | cudaLaunchKernel 77-78 #5
      gpu 7   void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> 40281-46281 #5`;
    expect(silence(rule, drawView(steps(4, 46300, DENSE.replace('40290', '46290') + tied)))).toMatch(
      /added to another one/,
    );
  });

  it('is silent where ranks reduce gradients', () => {
    const reduces = `
      host 1  cudaLaunchKernel 112-114 #6
      gpu 20  ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>) 20300-20400 #6`;
    expect(silence(rule, draw(DENSE, reduces))).toMatch(/NCCL does not reduce sparse gradients/);
  });
});
