import { describe, expect, it } from 'vitest';
import { drawView, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { gpuState } from '../../../test/helpers/telemetry.js';
import type { GpuState } from '../../telemetry/gpu-state.js';
import { rule } from './gpu-throttled.js';

const STEP = `
  host 1  ProfilerStep#1 0-50000 | cudaLaunchKernel 100-110 #1
  gpu 7   nvjet_tst_256 200-49000 #1`;
const view = drawView(steps(4, 50000, STEP));

const EXPECTED = { id: 'gpu-throttled', addresses: 'gpu', unit: 'MHz', placed: false } as const;
const gpusOf = (gpus: readonly GpuState[]) => ({ gpus: new Map(gpus.map((g, rank) => [rank, g])) });

function throttled(gpu: GpuState, others: readonly GpuState[] = []): string {
  const found = fires(rule, view, EXPECTED, gpusOf([gpu, ...others]));
  return `${found.title}: ${found.evidence[0]!.text}`;
}

describe('a throttled GPU', () => {
  it('names heat and hardware slowdown', () => {
    expect(throttled(gpuState({ clock: 1050, thermal: 0.34, power: 310, temperature: 88 }))).toBe(
      'heat holds the GPU’s clock down: busy in 100% of samples at 1,050 MHz of 1,980 (thermal slowdown 34% of the time), 310 W, up to 88 °C',
    );
    expect(throttled(gpuState({ slowdown: 0.5 }))).toMatch(/^the hardware holds/);
  });

  it('names a GPU that is slower than the others', () => {
    const others = [1, 2, 3].map((index) => gpuState({ index }));
    expect(throttled(gpuState({ clock: 1500, power: 650 }), others)).toMatch(
      /^the GPU runs slower than the others of the run: .*other GPUs 1,830 MHz/,
    );
    expect(silence(rule, view, gpusOf([gpuState({ clock: 1760 }), ...others]))).toMatch(/fit a busy GPU/);
  });

  it('names a clock far below its maximum, and the power limit that causes it', () => {
    expect(throttled(gpuState({ clock: 1200, powerCap: 0 }))).toMatch(
      /^the GPU runs far below its own clock/,
    );
    expect(throttled(gpuState({ clock: 1400 }))).toMatch(/^the power limit holds/);
  });

  it.each([
    ['it is at its usual power limit', 'clock and power fit a busy GPU', [gpuState()]],
    ['it is hardly busy', 'its GPU was busy in too few samples', [gpuState({ busySamples: 2 })]],
    ['there is no telemetry', 'no telemetry of its GPU', []],
  ])('is silent when %s', (_, reason, gpus) => {
    expect(silence(rule, view, gpusOf(gpus))).toBe(reason);
  });
});
