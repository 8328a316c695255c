import { describe, expect, it } from 'vitest';
import { drawView, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { gpuState } from '../../../test/helpers/telemetry.js';
import type { GpuState } from '../../telemetry/gpu-state.js';
import { rule } from './busy-but-starved.js';

const STEP = `
  host 1  ProfilerStep#1 0-50000 | cudaLaunchKernel 100-110 #1
  gpu 7   nvjet_tst_256 200-49000 #1`;
const view = drawView(steps(4, 50000, STEP));

const EXPECTED = { id: 'busy-but-starved', addresses: null, unit: 'W', placed: false } as const;
const withGpu = (gpu: GpuState) => ({ gpus: new Map([[0, gpu]]) });

describe('a GPU that is busy but starved', () => {
  it.each([
    ['its limit', gpuState({ power: 240, powerLimit: 700, powerCap: 0, clock: 1980 })],
    [
      'its board’s, an H200 according to the trace',
      gpuState({ power: 240, maxPower: 250, powerCap: 0, clock: 1980 }),
    ],
  ])('draws little of %s', (_, gpu) => {
    const found = fires(rule, view, EXPECTED, withGpu(gpu));
    expect(found.evidence[0]!.text).toBe('busy in 100% of samples, but 240 W of 700');
    expect(rule.info.cost).toBe('free');
  });

  it.each([
    ['it works', gpuState()],
    ['it is throttled: that explains the power', gpuState({ power: 240, clock: 1050, thermal: 0.34 })],
  ])('is silent when %s', (_, gpu) => {
    expect(silence(rule, view, withGpu(gpu))).toBe('clock and power fit a busy GPU');
  });
});
