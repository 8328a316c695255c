import { describe, expect, it } from 'vitest';
import { drawView, expectGain, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './activation-checkpointing.js';

/** Backward (thread 2) runs linear, gelu and layer_norm again: 12 of 40 ms. */
const RECOMPUTES = `
  host 1  ProfilerStep#1 0-40200 | aten::linear 0-30 | cudaLaunchKernel 10-20 #1 | cudaDeviceSynchronize 1000-40110
  host 2  autograd::engine::evaluate_function: CheckpointFunctionBackward 100-500
  host 2  aten::linear 110-140 | aten::gelu 150-180 | aten::layer_norm 190-220 | aten::mm 300-330
  host 2  cudaLaunchKernel 120-130 #2 | cudaLaunchKernel 160-170 #3 | cudaLaunchKernel 200-210 #4 | cudaLaunchKernel 310-320 #5
  gpu 7   nvjet_tst_256 100-10100 #1 | nvjet_tst_256 10100-18100 #2 | gelu 18100-20100 #3 | layer_norm 20100-22100 #4
  gpu 7   nvjet_tst_128 22100-40100 #5`;
/** The backward pass of the same layers, nothing twice. */
const PLAIN = RECOMPUTES.replace('CheckpointFunctionBackward', 'AddmmBackward0').replace(
  /aten::(?:linear|gelu|layer_norm) (?=1[159]0-)/g,
  'aten::mm ',
);
/** 0.2 of 40 ms. */
const SMALL = `
  host 1  ProfilerStep#1 0-40200 | aten::linear 0-30 | cudaLaunchKernel 10-20 #1 | cudaDeviceSynchronize 1000-40110
  host 2  autograd::engine::evaluate_function: CheckpointFunctionBackward 100-500
  host 2  aten::linear 110-140 | aten::gelu 150-180 | aten::layer_norm 190-220
  host 2  cudaLaunchKernel 120-130 #2 | cudaLaunchKernel 160-170 #3 | cudaLaunchKernel 200-210 #4
  gpu 7   nvjet_tst_256 100-39900 #1 | nvjet_tst_256 39900-40000 #2 | gelu 40000-40050 #3 | layer_norm 40050-40100 #4`;

/** On a CPU, backward runs linear and gelu again: 8 of 40 ms. */
const ON_HOST = `
  host 1  ProfilerStep#1 0-40000 | aten::linear 0-5000 | aten::gelu 5000-8000 | Optimizer.step#SGD.step 38000-40000
  host 1  autograd::engine::evaluate_function: GeluBackward0 10000-38000
  host 1  aten::linear 11000-16000 | aten::gelu 16000-19000 | aten::mm 20000-37000`;

describe('checkpointing', () => {
  it('finds operators that run twice on a CPU, where no kernel shows it', () => {
    const found = fires(rule, drawView(steps(4, 40000, ON_HOST)), {
      id: 'activation-checkpointing',
      addresses: 'gpu',
      unit: 'ms/step',
      placed: false,
    });
    // From the start of the backward node: checkpointing's own Python.
    expectGain(found, 40 / (40 - 9));
    expect(found.evidence[0]!.text).toMatch(
      /again inside backward \(linear, gelu\): 9.00 ms per step \(2[23]%/,
    );
    const once = ON_HOST.replace(/aten::(?:linear|gelu) (?=1[16]000)/g, 'aten::mm ');
    expect(silence(rule, drawView(steps(4, 40000, once)))).toBe('nothing is recomputed in backward');
  });

  it('prices a step without the 12 ms that are computed again', () => {
    const expected = {
      id: 'activation-checkpointing',
      addresses: 'gpu',
      unit: 'ms/step',
      placed: true,
    } as const;
    const found = fires(rule, drawView(steps(4, 40200, RECOMPUTES)), expected);
    expectGain(found, 40.2 / (40.2 - 12));
    expect(found.evidence[0]!.value).toBe(12);
    expect(found.evidence[0]!.text).toMatch(/^3 kernels per step/);
  });

  it('takes away the Python of checkpoints too: after the last recomputed call, and hooks in forward', () => {
    const hostBound = `
      host 1  ProfilerStep#1 0-9000 | aten::linear 0-290 x10@300 | cudaLaunchKernel 280-285 #1 x10@300
      host 1  autograd::engine::evaluate_function: CheckpointFunctionBackward 3000-8999
      host 1  aten::linear 3010-3900 | aten::gelu 3900-4900 | aten::layer_norm 4900-5900 | aten::mm 7000-7090 x20@100
      host 1  cudaLaunchKernel 3890-3895 #11 | cudaLaunchKernel 4890-4895 #12 | cudaLaunchKernel 5890-5895 #13
      host 1  cudaLaunchKernel 7050-7055 #14 x20@100
      gpu 7   nvjet_tst_256 290-295 #1 x10@300 | nvjet_tst_256 3900-3905 #11 | gelu 4900-4905 #12
      gpu 7   layer_norm 5900-5905 #13 | nvjet_tst_128 7060-7065 #14 x20@100`;
    const view = drawView(steps(4, 9000, hostBound), { unprofiledMs: 9 });
    const backward = 50 + 5 + 19 * 100;
    // Two events an operator in both passes: 49 µs each in backward, so 1.3 times that in forward, instead of 151.
    const forward = 20 * 1.3 * (backward / 40);
    const expected = {
      id: 'activation-checkpointing',
      addresses: 'host',
      unit: 'ms/step',
      placed: true,
    } as const;
    expectGain(fires(rule, view, expected), 9000 / (forward + backward));
  });

  it.each([
    ['nothing runs twice', /nothing is recomputed/, PLAIN],
    [
      'a custom backward calls one forward operator',
      /custom autograd function/,
      RECOMPUTES.replace('aten::gelu', 'aten::mul').replace('aten::layer_norm', 'aten::mul'),
    ],
    ['it is a small part', /recomputed work is/, SMALL],
  ])('is silent when %s', (_, reason, drawing) => {
    expect(silence(rule, drawView(steps(4, 40200, drawing)))).toMatch(reason);
  });
});
