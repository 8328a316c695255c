import { describe, expect, it } from 'vitest';
import { drawView, expectGain, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './launch-bound.js';

const NODE = 'autograd::engine::evaluate_function:';
/** 100 products and 100 elementwise kernels of 10 µs; the host takes 100 µs for each. */
const EAGER = `
  host 1  ProfilerStep#1 0-20000 | aten::mm 0-90 x200@100 | cudaLaunchKernel 50-60 #1 x200@100
  gpu 7   nvjet_tst_64x64 65-75 #1 x100@100 | mul_elementwise 10065-10075 #101 x100@100`;
/** One call starts all kernels. */
const KERNELS = Array.from({ length: 40 }, (_, i) => `nvjet_tst_64x64 ${18110 + 5 * i}-${18114 + 5 * i} #1`);
const GRAPH = `
  host 1  ProfilerStep#1 0-20000 | cudaGraphLaunch 18000-18100 #1
  gpu 7   ${KERNELS.join(' | ')}`;
const BUSY = `
  host 1  ProfilerStep#1 0-20000 | aten::mm 0-90 x200@100 | cudaLaunchKernel 50-60 #1 x200@100
  gpu 7   nvjet_tst_64x64 65-160 #1 x200@100`;
const LONG = `
  host 1  ProfilerStep#1 0-20000 | aten::mm 0-450 x40@500 | cudaLaunchKernel 50-60 #1 x40@500
  gpu 7   nvjet_tst_64x64 65-165 #1 x40@500`;
const FEW = EAGER.replaceAll(/x200@100|x100@100/g, 'x10@1000');
const spanning = (name: string) => EAGER.replace('0-20000', `0-20000 | ${name} 0-19999`);
const EXPECTED = { id: 'launch-bound', addresses: 'host', unit: 'ms/step', placed: false } as const;
const draw = (drawing: string) => drawView(steps(4, 20000, drawing), { unprofiledMs: 20 });

describe('launch-bound', () => {
  it('prices the launches that are left: all products, 0.12 of the elementwise ones', () => {
    const found = fires(rule, draw(EAGER), EXPECTED);
    expectGain(found, 1 / 0.56);
    expect(found.evidence[0]!.value).toBeCloseTo(18, 0);
    expect(found.evidence[0]!.text).toMatch(/200 launches/);
    expect(found.fix!.code).toBe('model = torch.compile(model)');
  });

  it('counts 2.5 launches for the backward of a norm, half a cast, and two for a reduction', () => {
    const mixed = `
      host 1  ProfilerStep#1 0-20000 | ${NODE} NativeLayerNormBackward0 0-1000 | aten::mm 0-90 x200@100
      host 1  cudaLaunchKernel 50-60 #1 x200@100
      gpu 7   layer_norm_grad_input_kernel 65-75 #1 x10@100 | reduce_kernel 1065-1075 #11 x15@100
      gpu 7   bfloat16_copy_kernel_cuda 2565-2575 #26 x75@100 | mul_elementwise 10065-10075 #101 x100@100`;
    // 10 × 2.5 + 15 × 2 + 75 × 0.5 + 100 × 0.12 = 104.5 of 200.
    expectGain(fires(rule, draw(mixed), EXPECTED), 200 / 104.5);
  });

  it('does not shorten a pause: 10 ms of 20 stay', () => {
    const pausing = EAGER.replaceAll(/@100/g, '@50').replaceAll(/0-90/g, '0-45').replaceAll('50-60', '25-30');
    const moved = pausing.replaceAll('65-75', '32-42').replaceAll('10065-10075', '5032-5042');
    expectGain(fires(rule, draw(moved), EXPECTED), 20 / (10 + 0.56 * 10));
  });

  it('leaves a GPU that is busy with elementwise kernels to unfused-elementwise', () => {
    const chains = `
      host 1  ProfilerStep#1 0-20000 | cudaLaunchKernel 10-15 #1 x19@10 | cudaDeviceSynchronize 300-19950
      gpu 7   mul_elementwise 100-1100 #1 x18@1000 | nvjet_tst_64x64 18100-19900 #19`;
    expect(silence(rule, draw(chains))).toMatch(/busy with elementwise/);
  });

  it.each([
    ['CUDA graphs are used', /CUDA graphs are already in use/, GRAPH],
    ['the GPU is busy', /waits for the host/, BUSY],
    ['kernels are long', /long enough/, LONG],
    ['there are few of them', /only 10 launches/, FEW],
    ['a compiled function falls back', /see recompiles/, spanning('TorchDynamo Cache Lookup')],
    ['the model is compiled', /already compiled/, spanning('Torch-Compiled Region: 0/0')],
  ])('is silent when %s', (_, reason, drawing) => {
    expect(silence(rule, draw(drawing))).toMatch(reason);
  });
});
