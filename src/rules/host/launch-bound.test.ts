import { describe, expect, it } from 'vitest';
import { drawView, expectGain, expectGainBetween, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './launch-bound.js';

/** 200 operators of 100 µs on the host, 25 µs on the GPU. */
const EAGER = `
  host 1  ProfilerStep#1 0-20000 | aten::mm 0-90 x200@100 | cudaLaunchKernel 50-60 #1 x200@100
  gpu 7   nvjet_tst_64x64 65-90 #1 x200@100`;
/** The last 100 of them are the optimizer's. */
const OPTIMIZER = EAGER.replace('0-20000', '0-20000 | Optimizer.step#AdamW.step 10000-19999');
/** One call starts all kernels. */
const KERNELS = Array.from({ length: 40 }, (_, i) => `nvjet_tst_64x64 ${18110 + 5 * i}-${18114 + 5 * i} #1`);
const GRAPH = `
  host 1  ProfilerStep#1 0-20000 | cudaGraphLaunch 18000-18100 #1
  gpu 7   ${KERNELS.join(' | ')}`;
const BUSY = EAGER.replace('65-90', '65-160');
const LONG = `
  host 1  ProfilerStep#1 0-20000 | aten::mm 0-450 x40@500 | cudaLaunchKernel 50-60 #1 x40@500
  gpu 7   nvjet_tst_64x64 65-165 #1 x40@500`;
const FEW = EAGER.replaceAll('x200@100', 'x10@2000');
const FALLS_BACK = EAGER.replace('0-20000', '0-20000 | TorchDynamo Cache Lookup 0-10');
const EXPECTED = { id: 'launch-bound', addresses: 'host', unit: 'ms/step', placed: false } as const;
const draw = (drawing: string) => drawView(steps(4, 20000, drawing), { unprofiledMs: 20 });

describe('launch-bound', () => {
  it('prices CUDA graphs: 200 kernels of 25 µs follow each other, 1 µs apart', () => {
    const found = fires(rule, draw(EAGER), EXPECTED);
    expectGain(found, 20 / (200 * 0.026));
    expect(found.evidence[0]!.value).toBeCloseTo(15, 0);
    expect(found.evidence[0]!.text).toMatch(/200 launches/);
    expect(found.fix!.code).toMatch(/reduce-overhead/);
    expect(found.fix!.code).not.toMatch(/fused=True/);
  });

  it('prices the fused optimizer with it', () => {
    const found = fires(rule, draw(OPTIMIZER), EXPECTED);
    expectGainBetween(found, 20 / (200 * 0.026), 20 / (100 * 0.026));
    expect(found.fix!.code).toMatch(/fused=True/);
  });

  it('takes out the cost of recording: 400 events of 11.3 µs', () => {
    const view = drawView(steps(4, 20000, EAGER));
    expect(view.step / 1e6).toBeCloseTo(20 - 4.52, 1);
    expectGain(fires(rule, view, EXPECTED), (20 - 4.52) / (200 * 0.026));
  });

  it('says when the model is compiled, but without graphs', () => {
    const compiled = EAGER.replace('0-20000', '0-20000 | Torch-Compiled Region: 0/0 0-19999');
    expect(fires(rule, draw(compiled), EXPECTED).title).toMatch(/^compiled/);
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
    ['a compiled function falls back', /see recompiles/, FALLS_BACK],
  ])('is silent when %s', (_, reason, drawing) => {
    expect(silence(rule, draw(drawing))).toMatch(reason);
  });
});
