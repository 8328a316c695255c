import { describe, expect, it } from 'vitest';
import { drawView, expectGainBetween, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './unfused-elementwise.js';

/** The GPU is busy: 18 kernels of 1 ms that only read and write, then a product of 2 ms. */
const CHAINS = `
  host 1  ProfilerStep#1 0-20200 | cudaLaunchKernel 10-15 #1 x19@10 | cudaDeviceSynchronize 300-20150
  gpu 7   mul_elementwise 100-1100 #1 x18@1000 | nvjet_tst_64x64 18100-20100 #19`;

const draw = (drawing: string) => drawView(steps(4, 20200, drawing));

describe('unfused elementwise kernels', () => {
  it('prices a chain as one kernel: 18 ms become 1.5, and 2 ms of products stay', () => {
    const expected = { id: 'unfused-elementwise', addresses: 'gpu', unit: 'ms/step', placed: false } as const;
    expectGainBetween(fires(rule, draw(CHAINS), expected), 3, 20.2 / 3.2);
  });

  it.each([
    [
      'matrix work decides',
      /elementwise kernels are 0/,
      CHAINS.replace('mul_elementwise', 'nvjet_tst_64x64'),
    ],
    [
      'the model is compiled',
      /already compiled/,
      CHAINS.replace('0-20200', '0-20200 | Torch-Compiled Region: 0/0 0-20199'),
    ],
  ])('is silent when %s', (_, reason, drawing) => {
    expect(silence(rule, draw(drawing))).toMatch(reason);
  });
});
