import { describe, expect, it } from 'vitest';
import { drawView, expectGain, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './anomaly-detection.js';
import { rule as hostSync } from './host-sync.js';

const NODE = 'autograd::engine::evaluate_function: MulBackward0';
/**
 * Ten forward operators of 1 ms; twenty backward nodes of 1 ms, 0.2 ms of it the node's own: the rest looks for
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

describe('anomaly detection', () => {
  it('prices a step without anomaly detection: checks and reads go, forward costs what backward costs', () => {
    const expected = {
      id: 'anomaly-detection',
      addresses: 'host',
      unit: 'kernels/step',
      placed: false,
    } as const;
    const found = fires(rule, drawView(steps(4, 30000, ANOMALY), { unprofiledMs: 30 }), expected);
    // A plain node: from the end of the last read (10900) to the end of its launch (11110), three events.
    const node = 0.21;
    expectGain(found, 30 / (20 * node + 10 * ((node / 3) * 2)));
    expect(found.evidence[0]!.value).toBe(20);
  });

  it('is found without a GPU, from what the host calls', () => {
    // There, backward runs on the thread that calls it.
    const onCpu = ANOMALY.replace(/^ *gpu.*$/gm, '')
      .replaceAll('host 2', 'host 1')
      .replace(/ \| cuda\w+ \S+( #\d+)?( x\d+@\d+)?/g, '');
    const expected = {
      id: 'anomaly-detection',
      addresses: 'host',
      unit: 'calls/step',
      placed: false,
    } as const;
    const found = fires(rule, drawView(steps(4, 30000, onCpu)), expected);
    expect(found.evidence[0]!.text).toMatch(/20 calls and 20 reads per step/);
    expect(found.price).toBeNull();
  });

  it('makes its reads itself: no advice on logging', () => {
    expect(silence(hostSync, drawView(steps(4, 30000, ANOMALY), { unprofiledMs: 30 }))).toMatch(
      /anomaly detection makes these reads/,
    );
  });

  it('is silent when a model checks its loss', () => {
    expect(silence(rule, drawView(steps(4, 11000, ONE_CHECK)))).toMatch(/anomaly detection is off/);
  });
});
