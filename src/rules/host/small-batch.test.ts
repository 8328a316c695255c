import { describe, expect, it } from 'vitest';
import { drawView, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './small-batch.js';

/** 200 operators of 100 µs on the host, 5 µs on the GPU. */
const SMALL = `
  host 1  ProfilerStep#1 0-20000 | aten::mm 0-90 x200@100 | cudaLaunchKernel 50-60 #1 x200@100
  gpu 7   nvjet_tst_64 65-70 #1 x200@100`;
const draw = (drawing: string) => drawView(steps(4, 20000, drawing));

describe('small batch', () => {
  it('finds kernels of a few microseconds on an idle GPU', () => {
    const expected = { id: 'small-batch', addresses: 'host', unit: 'µs/kernel', placed: false } as const;
    const found = fires(rule, draw(SMALL), expected);
    expect(found.evidence[0]!.value).toBe(5);
    expect(found.price).toBeNull();
  });

  it('recommends accumulation for training, and minds latency for inference', () => {
    const expected = { id: 'small-batch', addresses: 'host', unit: 'µs/kernel', placed: false } as const;
    const trains = SMALL.replace('aten::mm', 'autograd::engine::evaluate_function: MmBackward0');
    expect(fires(rule, draw(trains), expected).fix.text).toMatch(/accumulation/);
    expect(fires(rule, draw(SMALL), expected).fix!.text).toMatch(/latency/);
  });

  it('without a GPU, finds operators of a few microseconds: most is what calling them costs', () => {
    const expected = { id: 'small-batch', addresses: 'gpu', unit: 'µs/operator', placed: false } as const;
    const calls = (each: number, times: number) =>
      draw(
        `host 1  ProfilerStep#1 0-20000 | aten::mm 0-${each} x${times}@${Math.floor(20000 / times)} | aten::big 19900-19990`,
      );
    const found = fires(rule, calls(3, 800), expected);
    expect(found.evidence[0]!.text).toMatch(/calls 801 operators, .* 3\.0 µs or less/);
    expect(found.fix!.text).toMatch(/instead of a loop over samples/);
    expect(silence(rule, calls(12, 800))).toMatch(/long enough/);
    expect(silence(rule, calls(3, 100))).toMatch(/few operators/);
  });

  it.each([
    ['kernels fill the time', /GPU computes 9\d%/, SMALL.replace('65-70', '65-160')],
    ['kernels are long', /long enough/, SMALL.replaceAll('x200@100', 'x20@1000').replace('65-70', '65-265')],
    [
      'launches were not recorded',
      /not recorded/,
      SMALL.replace(/host 1.*/, 'host 1  ProfilerStep#1 0-20000'),
    ],
  ])('is silent when %s', (_, reason, drawing) => {
    expect(silence(rule, draw(drawing))).toMatch(reason);
  });
});
