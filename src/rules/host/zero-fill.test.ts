import { describe, expect, it } from 'vitest';
import { drawView, expectGain, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './zero-fill.js';

/** zero_grad fills 100 gradients, 0.1 ms each; then 10 ms of computing. */
const ZERO_FILL = `
  host 1  ProfilerStep#1 0-20200 | Optimizer.zero_grad#AdamW.zero_grad 0-2050 | cudaLaunchKernel 10-15 #1 x100@20
  host 1  cudaLaunchKernel 2060-2070 #200 | cudaDeviceSynchronize 2080-20110
  gpu 7   FillFunctor 20-120 #1 x100@100 | nvjet_tst_256 10100-20100 #200`;
/** Ten of 2 µs. */
const CHEAP_FILL = `
  host 1  ProfilerStep#1 0-20200 | Optimizer.zero_grad#AdamW.zero_grad 0-210 | cudaLaunchKernel 10-15 #1 x10@20
  host 1  cudaLaunchKernel 220-230 #200 | cudaDeviceSynchronize 240-20110
  gpu 7   FillFunctor 20-22 #1 x10@20 | nvjet_tst_256 240-20100 #200`;
const SET_TO_NONE = `
  host 1  ProfilerStep#1 0-20200 | Optimizer.zero_grad#AdamW.zero_grad 0-50
  host 1  cudaLaunchKernel 60-70 #200 | cudaDeviceSynchronize 80-20110
  gpu 7   nvjet_tst_256 80-20100 #200`;

describe('zero fill', () => {
  it('prices gradients that are dropped instead of filled with zeros', () => {
    const expected = { id: 'zero-fill', addresses: 'gpu', unit: 'ms/step', placed: false } as const;
    const found = fires(rule, drawView(steps(4, 20200, ZERO_FILL)), expected);
    expectGain(found, 20.2 / 10.2);
    expect(found.fix).toEqual(rule.info.fix);
  });

  it.each([
    ['gradients are dropped', /not filled with zeros/, SET_TO_NONE],
    ['filling costs nothing', /zeros costs/, CHEAP_FILL],
    ['there is no GPU', /looked for on GPUs/, 'host 1  ProfilerStep#1 0-20200 | aten::zero_ 0-2050'],
  ])('is silent when %s', (_, reason, drawing) => {
    expect(silence(rule, drawView(steps(4, 20200, drawing)))).toMatch(reason);
  });
});
