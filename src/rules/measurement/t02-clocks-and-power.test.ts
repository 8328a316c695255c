import { describe, expect, it } from 'vitest';
import { drawView, expectWhole, runOf } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import type { GpuState } from '../../telemetry/gpu-state.js';
import { gpuState } from '../../telemetry/testing.js';
import { clocksAndPower } from './t02-clocks-and-power.js';

const STEP = `
  host 1  ProfilerStep#1 0-50000 | cudaLaunchKernel 100-110 #1
  gpu 7   nvjet_tst_256 200-49000 #1`;
const view = drawView(steps(4, 50000, STEP));

function checked(gpu: GpuState, others: readonly GpuState[] = []) {
  const gpus = new Map([gpu, ...others].map((g, rank) => [rank, g]));
  const result = clocksAndPower.check(view, { ...runOf([view]), gpus });
  return 'silent' in result ? result.silent : result.findings[0]!;
}
function throttled(gpu: GpuState, others: readonly GpuState[] = []) {
  const found = checked(gpu, others);
  if (typeof found === 'string') throw new Error(found);
  expectWhole(clocksAndPower, found, {
    ...{ id: 'gpu-throttled', addresses: 'gpu', unit: 'MHz', placed: false },
  });
  return `${found.title}: ${found.evidence[0]!.text}`;
}

describe('T2: clocks and power', () => {
  it('tells heat, and a hardware that slows down', () => {
    expect(throttled(gpuState({ clock: 1050, thermal: 0.34, power: 310, temperature: 88 }))).toBe(
      'heat holds the GPU’s clock down: busy in 100 % of samples at 1,050 MHz of 1,980 (thermal slowdown 34 % of the time), 310 W, up to 88 °C',
    );
    expect(throttled(gpuState({ slowdown: 0.5 }))).toMatch(/^the hardware holds/);
  });

  it('tells a GPU that is slower than the others', () => {
    const others = [1, 2, 3].map((index) => gpuState({ index }));
    expect(throttled(gpuState({ clock: 1500, power: 650 }), others)).toMatch(
      /^the GPU runs slower than the others of the run: .*other GPUs 1,830 MHz/,
    );
    expect(checked(gpuState({ clock: 1760 }), others)).toBe('clock and power fit a busy GPU');
  });

  it('tells a clock far below its maximum, and what a power limit does', () => {
    expect(throttled(gpuState({ clock: 1200, powerCap: 0 }))).toMatch(
      /^the GPU runs far below its own clock/,
    );
    expect(throttled(gpuState({ clock: 1400 }))).toMatch(/^the power limit holds/);
  });

  it('tells a GPU that is busy with nothing: of its limit, or its board’s', () => {
    for (const gpu of [
      gpuState({ power: 240, powerLimit: 700, powerCap: 0, clock: 1980 }),
      gpuState({ power: 240, maxPower: 250, powerCap: 0, clock: 1980 }), // an H200, as the trace says
    ]) {
      const found = checked(gpu);
      if (typeof found === 'string') throw new Error(found);
      expectWhole(clocksAndPower, found, {
        ...{ id: 'busy-but-starved', addresses: null, unit: 'W', placed: false },
      });
      expect(found.evidence[0]!.text).toBe('busy in 100 % of samples, but 240 W of 700');
      expect(found.cost).toBe('free');
    }
  });

  it('is silent about a GPU at its usual power limit, one that is hardly busy, and without telemetry', () => {
    expect(checked(gpuState())).toBe('clock and power fit a busy GPU');
    expect(checked(gpuState({ busySamples: 2 }))).toBe('its GPU was busy in too few samples');
    expect(clocksAndPower.check(view, runOf([view]))).toEqual({ silent: 'no telemetry of its GPU' });
  });
});
