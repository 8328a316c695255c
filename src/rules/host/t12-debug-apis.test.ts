import { describe, expect, it } from 'vitest';
import { drawView, expectGain, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { debugApis } from './t12-debug-apis.js';

const NODE = 'autograd::engine::evaluate_function: MulBackward0';
/**
 * Ten forward operators of 1 ms; twenty backward nodes of 1 ms, of which 0.2 ms are the node's own: the rest looks for
 * NaN and reads the answer.
 */
const ANOMALY = `
  host 1  ProfilerStep#1 0-30000 | aten::mul 10-990 x10@1000 | cudaLaunchKernel 890-900 #1 x10@1000
  host 2  ${NODE} 10000-10990 x20@1000
  host 2  aten::mul 10010-10200 x20@1000 | cudaLaunchKernel 10100-10110 #101 x20@1000
  host 2  aten::isnan 10200-10400 x20@1000 | cudaLaunchKernel 10300-10310 #201 x20@1000
  host 2  aten::item 10500-10980 x20@1000 | cudaMemcpyAsync 10600-10610 #301 x20@1000 | cudaStreamSynchronize 10620-10900 x20@1000
  gpu 7   mul_elementwise 905-915 #1 x10@1000 | mul_elementwise 10120-10130 #101 x20@1000
  gpu 7   isnan_elementwise 10320-10330 #201 x20@1000 | Memcpy DtoH (Device -> Pageable) 10620-10622 #301 x20@1000`;
/** A model that looks at its loss once. */
const ONE_CHECK = ANOMALY.replace(/ x20@1000/g, '').replace('0-30000', '0-11000');

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

describe('T12: debugging aids', () => {
  it('prices a step without anomaly detection: checks and reads go, forward costs what backward costs', () => {
    const expected = {
      id: 'anomaly-detection',
      addresses: 'host',
      unit: 'kernels/step',
      placed: false,
    } as const;
    const found = fires(debugApis, drawView(steps(4, 30000, ANOMALY), { unprofiledMs: 30 }), expected);
    // A plain node: from the end of the last read (10900) to the end of its launch (11110), three events.
    const node = 0.21;
    expectGain(found, 30 / (20 * node + 10 * ((node / 3) * 2)));
    expect(found.evidence[0]!.value).toBe(20);
  });

  it('prices gradients that are dropped instead of filled with zeros', () => {
    const expected = { id: 'zero-fill', addresses: 'gpu', unit: 'ms/step', placed: false } as const;
    const found = fires(debugApis, drawView(steps(4, 20200, ZERO_FILL)), expected);
    expectGain(found, 20.2 / 10.2);
    expect(found.fix!.code).toMatch(/set_to_none=True/);
  });

  it.each([
    ['gradients are dropped', /no debugging aid/, 20200, SET_TO_NONE],
    ['filling costs nothing', /zeros costs/, 20200, CHEAP_FILL],
    ['a model checks its loss', /no debugging aid/, 11000, ONE_CHECK],
  ])('is silent when %s', (_, reason, every, drawing) => {
    expect(silence(debugApis, drawView(steps(4, every, drawing)))).toMatch(reason);
  });
});
