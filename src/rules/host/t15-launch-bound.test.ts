import { describe, expect, it } from 'vitest';
import { drawView, expectGain, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { launchBound } from './t15-launch-bound.js';

/** 200 operators of 100 µs on the host, 5 µs on the GPU. */
const EAGER = `
  host 1  ProfilerStep#1 0-20000 | aten::relu 0-90 x200@100 | cudaLaunchKernel 50-60 #1 x200@100
  gpu 7   relu_elementwise 65-70 #1 x200@100`;
/** The last 100 of them are the optimizer's. */
const OPTIMIZER = EAGER.replace('0-20000', '0-20000 | Optimizer.step#AdamW.step 10000-19999');
/** One call starts them all. */
const GRAPH = `
  host 1  ProfilerStep#1 0-20000 | cudaGraphLaunch 18000-18100 #1
  gpu 7   relu_elementwise 18110-18115 #1 | ${'relu_elementwise 18120-18125 #1 | '.repeat(39)}relu_elementwise 18130-18135 #1`;
const BUSY = EAGER.replace('65-70', '65-160');
const LONG = EAGER.replaceAll('x200@100', 'x40@500').replace('0-90', '0-450').replace('65-70', '65-165');
const FEW = EAGER.replaceAll('x200@100', 'x10@2000');
const FALLS_BACK = EAGER.replace('0-20000', '0-20000 | TorchDynamo Cache Lookup 0-10');

const EXPECTED = { id: 'launch-bound', addresses: 'host', unit: 'ms/step', placed: false } as const;
const draw = (drawing: string) => drawView(steps(4, 20000, drawing), { unprofiledMs: 20 });

describe('T15: launch-bound', () => {
  it('prices CUDA graphs: a twentieth of the host time is left, and 2.5 ms', () => {
    const found = fires(launchBound, draw(EAGER), EXPECTED);
    expectGain(found, 20 / (0.05 * 20 + 2.5));
    expect(found.evidence[0]!.value).toBeCloseTo(19, 0);
    expect(found.evidence[0]!.text).toMatch(/200 launches/);
    expect(found.fix!.code).toMatch(/reduce-overhead/);
    expect(found.fix!.code).not.toMatch(/fused=True/);
  });

  it('prices the fused optimizer with it: its 10 ms become its first launch and 0.1 ms', () => {
    const found = fires(launchBound, draw(OPTIMIZER), EXPECTED);
    expectGain(found, 20 / (0.05 * 10 + 2.5 + 0.1 + 0.1));
    expect(found.fix!.code).toMatch(/fused=True/);
  });

  it('takes the cost of recording out of both sides', () => {
    const view = drawView(steps(4, 20000, EAGER));
    // 400 events of 2.9 µs.
    expect(view.step / 1e6).toBeCloseTo(20 - 1.16, 1);
    expect(fires(launchBound, view, EXPECTED).price!.speedup.likely).toBeLessThan(20 / 3.5);
  });

  it('says so when it is compiled already, without graphs', () => {
    const compiled = EAGER.replace('0-20000', '0-20000 | Torch-Compiled Region: 0/0 0-19999');
    expect(fires(launchBound, draw(compiled), EXPECTED).title).toMatch(/^compiled/);
  });

  it.each([
    ['CUDA graphs are used', /CUDA graphs are in use/, GRAPH],
    ['the GPU is busy', /waits for the host/, BUSY],
    ['kernels are long', /long enough/, LONG],
    ['there are few of them', /only 10 launches/, FEW],
    ['a compiled function falls back', /see T16/, FALLS_BACK],
  ])('is silent when %s', (_, reason, drawing) => {
    expect(silence(launchBound, draw(drawing))).toMatch(reason);
  });
});
