import { describe, expect, it } from 'vitest';
import { drawView, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './model-on-cpu.js';

const STEP = 'host 1  ProfilerStep#1 0-1000 | aten::mkldnn_convolution 10-800';
const GPU = { deviceProperties: [{ id: 0, name: 'NVIDIA T4', totalGlobalMem: 15e9 }] };
const silenceOf = (step: string, header: Record<string, unknown> = GPU) =>
  silence(rule, drawView(steps(3, 1000, step), { header }));

describe('a model on the CPU', () => {
  it('is found on a machine with a GPU, by operators that only the CPU has', () => {
    const found = fires(rule, drawView(steps(3, 1000, STEP), { header: GPU }), {
      id: 'model-on-cpu',
      addresses: 'gpu',
      unit: 'ms/step',
      placed: false,
    });
    expect(found.evidence[0]!.text).toBe(
      'operators that only run on the CPU take 0.79 ms (79% of what was recorded); NVIDIA T4 does nothing',
    );
  });

  it('is found by fewer of them if CUDA’s calls were recorded and none gives the GPU work', () => {
    const some = STEP.replace('10-800', '10-250').concat(' | aten::dropout 250-900');
    expect(silenceOf(some)).toMatch(/nothing proves/);
    const idle = `${some} | cudaDeviceSynchronize 950-960`;
    expect(silenceOf(idle)).toBe('fires: model-on-cpu');
    expect(silenceOf(`${idle} | cudaLaunchKernel 970-980 #1`)).toMatch(/nothing proves/);
  });

  it('is no finding without a GPU, without proof, and if the GPU is used', () => {
    expect(silenceOf(STEP, {})).toMatch(/lists no GPU/);
    expect(silenceOf(STEP.replace('mkldnn_convolution', 'convolution'))).toMatch(/nothing proves/);
    expect(silenceOf(`${STEP}\ngpu 7  gemm 100-200`)).toMatch(/is used/);
  });
});
