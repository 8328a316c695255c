import { describe, expect, it } from 'vitest';
import { drawView, expectGain, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './unfused-optimizer.js';

/** 10 ms of forward and backward; then 200 launches for 20 parameters, 0.1 ms each. */
const FOR_LOOP = `
  host 1  ProfilerStep#1 0-30000 | aten::mm 0-90 x100@100 | cudaLaunchKernel 50-60 #1 x100@100
  host 1  torch::autograd::AccumulateGrad 5091-5099 x20@100
  host 1  Optimizer.step#AdamW.step 10000-29999 | aten::mul_ 10010-10090 x200@100 | cudaLaunchKernel 10050-10060 #201 x200@100
  gpu 7   nvjet_tst_64 65-75 #1 x100@100 | mul_elementwise 10065-10075 #201 x200@100`;
/** 10 launches for lists of tensors, 2 ms each on the host. */
const FOREACH = FOR_LOOP.replaceAll('x200@100', 'x10@2000')
  .replace('10010-10090', '10010-11990')
  .replace('mul_elementwise', 'void at::native::multi_tensor_apply_kernel');
const FUSED = FOREACH.replace('multi_tensor_apply_kernel', 'multi_tensor_apply_kernel<FusedAdamMathFunctor>');
/** The GPU needs 30 ms for what is launched in one. */
const GPU_BOUND = `
  host 1  ProfilerStep#1 0-30000 | cudaLaunchKernel 50-60 #1 | Optimizer.step#AdamW.step 100-900
  host 1  cudaLaunchKernel 110-112 #201 x200@3 | cudaDeviceSynchronize 950-29990
  gpu 7   nvjet_tst_64 65-29565 #1 | mul_elementwise 29565-29567 #201 x200@2`;

const draw = (drawing: string) => drawView(steps(4, 30000, drawing), { unprofiledMs: 30 });

describe('fused optimizer', () => {
  it('prices a for-loop: 20 ms become 0.1 ms and 11 µs for each of 20 parameters', () => {
    const expected = { id: 'optimizer-for-loop', addresses: 'host', unit: 'ms/step', placed: false } as const;
    const found = fires(rule, draw(FOR_LOOP), expected);
    expectGain(found, 30 / (10 + 0.1 + 0.1 + 20 * 0.011));
    expect(found.evidence[0]!.value).toBe(2);
    expect(found.evidence[0]!.text).toMatch(/200 launches per step for 20 parameters/);
  });

  it('prices lists of tensors: all launches but the first go', () => {
    const expected = { id: 'optimizer-foreach', addresses: 'host', unit: 'ms/step', placed: false } as const;
    // What is left of the last launch: its own call and the time to the end of the step.
    expectGain(fires(rule, draw(FOREACH), expected), 30 / (10 + 0.1 + 1.94));
  });

  it.each([
    ['it is fused', /already fused/, FUSED],
    ['the GPU has other work', /something else holds it up/, GPU_BOUND],
    ['there is none', /no Optimizer\.step/, FOR_LOOP.replace('Optimizer.step#AdamW.step', 'aten::add')],
  ])('is silent when %s', (_, reason, drawing) => {
    expect(silence(rule, draw(drawing))).toMatch(reason);
  });
});
