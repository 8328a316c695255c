import { expect, it } from 'vitest';
import { drawView } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { toMs } from '../../base/units.js';
import { costOf } from './memory-costs.js';

/** Forward 10 ms of the GPU, backward 30. */
const ON_GPU = `
  host 1  ProfilerStep#1 0-40200 | aten::linear 0-30 | cudaLaunchKernel 10-20 #1 | cudaDeviceSynchronize 1000-40110
  host 2  autograd::engine::evaluate_function: AddmmBackward0 100-500 | aten::mm 110-140 | cudaLaunchKernel 120-130 #2
  gpu 7   nvjet_tst_256 100-10100 #1 | nvjet_tst_128 10100-40100 #2`;
/** Forward 3 ms of the host, backward 6; the GPU is idle most of the time. */
const ON_HOST = `
  host 1  ProfilerStep#1 0-9000 | aten::linear 0-290 x10@300 | cudaLaunchKernel 280-285 #1 x10@300
  host 1  autograd::engine::evaluate_function: AddmmBackward0 3000-8999 | aten::mm 3010-3290 x20@300
  host 1  cudaLaunchKernel 3280-3285 #11 x20@300
  gpu 7   nvjet_tst_256 290-295 #1 x10@300 | nvjet_tst_128 3290-3295 #11 x20@300`;
const onGpu = drawView(steps(4, 40200, ON_GPU), { unprofiledMs: 40.2 });
const onHost = drawView(steps(4, 9000, ON_HOST), { unprofiledMs: 9 });
const added = (cost: ReturnType<typeof costOf>) => toMs(cost!.after) - toMs(cost!.before);

it('checkpoints cost the forward pass again, on the GPU or on the host', () => {
  expect(added(costOf(onGpu, 'checkpointAll'))).toBeCloseTo(10, 0);
  expect(costOf(onGpu, 'checkpointAll')!.onHost).toBe(false);
  expect(added(costOf(onHost, 'checkpointAll'))).toBeCloseTo(3, 0);
  expect(costOf(onHost, 'checkpointAll')!.onHost).toBe(true);
});

it('half the batch twice costs nothing while the GPU is busy, and a step of calls if the host is the limit', () => {
  expect(added(costOf(onGpu, 'halfBatchTwice'))).toBeLessThan(0.5);
  expect(added(costOf(onHost, 'halfBatchTwice'))).toBeCloseTo(9, 0);
});

it('there is no price without a trace, for what is recomputed already, or for a job on the CPU', () => {
  expect(costOf(undefined, 'checkpointAll')).toBeNull();
  const again = ON_GPU.replace('aten::mm 110-140', 'aten::linear 110-140 | aten::gelu 141-142');
  expect(costOf(drawView(steps(4, 40200, again)), 'checkpointAll')).toBeNull();
  const cpu = 'host 1  ProfilerStep#1 0-9000 | aten::linear 0-3000 | aten::mm 4000-9000';
  expect(costOf(drawView(steps(4, 9000, cpu)), 'checkpointAll')).toBeNull();
});
