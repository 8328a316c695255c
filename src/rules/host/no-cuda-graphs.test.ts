import { describe, expect, it } from 'vitest';
import { drawView, expectGain, expectGainBetween, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './no-cuda-graphs.js';

/** 200 operators of 100 µs on the host, 25 µs on the GPU. */
const EAGER = `
  host 1  ProfilerStep#1 0-20000 | aten::mm 0-90 x200@100 | cudaLaunchKernel 50-60 #1 x200@100
  gpu 7   nvjet_tst_64x64 65-90 #1 x200@100`;
/** The last 100 of them are the optimizer's. */
const OPTIMIZER = EAGER.replace('0-20000', '0-20000 | Optimizer.step#AdamW.step 10000-19999');
const EXPECTED = { id: 'no-cuda-graphs', addresses: 'host', unit: 'ms/step', placed: false } as const;
const draw = (drawing: string) => drawView(steps(4, 20000, drawing), { unprofiledMs: 20 });

describe('no-cuda-graphs', () => {
  it('prices graphs: 200 kernels of 25 µs follow each other, 1 µs apart', () => {
    const found = fires(rule, draw(EAGER), EXPECTED);
    expectGain(found, 20 / (200 * 0.026));
    expect(found.fix!.code).toMatch(/reduce-overhead/);
    expect(found.fix!.code).not.toMatch(/fused=True/);
  });

  it('leaves the host 0.3 ms a pass and 0.03 of its time: 0.9 ms, more than the GPU needs', () => {
    const short = EAGER.replace('65-90', '65-66');
    expectGain(fires(rule, draw(short), EXPECTED), 20 / 0.9);
  });

  it('adds a second pass and 14 µs for each gradient where the model trains', () => {
    const trains = `
      host 1  ProfilerStep#1 0-20000 | aten::mm 0-90 x200@100 | cudaLaunchKernel 50-60 #1 x200@100
      host 1  autograd::engine::evaluate_function: MmBackward0 10000-19999
      host 1  torch::autograd::AccumulateGrad 10092-10096 x50@100
      gpu 7   nvjet_tst_64x64 65-66 #1 x200@100`;
    const found = fires(rule, draw(trains), EXPECTED);
    expectGain(found, 20 / (0.6 + 50 * 0.014 + 0.03 * 20));
  });

  it('prices the fused optimizer with it', () => {
    const found = fires(rule, draw(OPTIMIZER), EXPECTED);
    expectGainBetween(found, 20 / (200 * 0.026), 20 / (100 * 0.026));
    expect(found.fix!.code).toMatch(/fused=True/);
    expect(found.inShort).toBe('CUDA graphs and a fused optimizer');
  });

  it('takes out the cost of recording', () => {
    const view = drawView(steps(4, 20000, EAGER));
    expect(view.step.unprofiled).toBeLessThan(19e6);
    expectGain(fires(rule, view, EXPECTED), view.step.unprofiled / (200 * 26_000));
  });

  it('says when the model is compiled, but without graphs', () => {
    const compiled = EAGER.replace('0-20000', '0-20000 | Torch-Compiled Region: 0/0 0-19999');
    expect(fires(rule, draw(compiled), EXPECTED).title).toMatch(/^compiled/);
  });

  it('is silent where shapes depend on values, and where launch-bound would be', () => {
    const masks = EAGER.replace(
      '0-20000',
      '0-20000 | aten::nonzero 60-64 x5@4000 | cudaStreamSynchronize 61-63 x5@4000',
    );
    expect(silence(rule, draw(masks))).toMatch(/shapes depend on values/);
    expect(silence(rule, draw(EAGER.replace('65-90', '65-160')))).toMatch(/waits for the host/);
  });
});
