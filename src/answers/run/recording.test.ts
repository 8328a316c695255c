import { describe, expect, it } from 'vitest';
import { drawView } from '../../../test/helpers/draw-run.js';
import { inTurn, steps } from '../../../test/helpers/draw-trace.js';
import type { Observed } from '../../diagnosis/observe.js';
import { programRemark, startUpRemark } from './recording.js';

const observed = (drawing: string) => ({ views: [drawView(drawing)] }) as unknown as Observed;
const STEP = `
  host 1  ProfilerStep#0 0-1000 | aten::mm 90-110 | cudaLaunchKernel 100-102 #1
  gpu 7   gemm 110-900 #1`;
const COLD = `
  host 1  ProfilerStep#0 0-5000 | cudaFree 100-4000 | cudaLaunchKernel 4100-4102 #1
  gpu 7   gemm 4110-4900 #1`;

describe('remarks on a recording', () => {
  it('a job that trains or computes with PyTorch needs none', () => {
    expect(programRemark(observed(steps(3, 1000, STEP)))).toBeNull();
    expect(startUpRemark(observed(steps(3, 1000, STEP)))).toBeNull();
  });

  it('a program without PyTorch is named as that', () => {
    const cuda = STEP.replace(' | aten::mm 90-110', '').replaceAll('ProfilerStep#0', 'train_step');
    expect(programRemark(observed(steps(3, 1000, cuda)))?.detail).toMatch(/^This is not a PyTorch program/);
  });

  it('a benchmark of copies is named as that', () => {
    const copies = STEP.replace('gemm', 'Memcpy HtoD (Pinned -> Device)').replace(
      'cudaLaunchKernel',
      'cudaMemcpyAsync',
    );
    expect(programRemark(observed(steps(3, 1000, copies)))?.detail).toBe(
      'The GPU runs no kernels here, only copies',
    );
  });

  it('steps of a serving engine are named as that', () => {
    const served = STEP.replace('ProfilerStep#0', 'execute_32_context_0(sq0)_generation_32(sq32)');
    expect(programRemark(observed(steps(3, 1000, served)))?.detail).toBe(
      'The recording shows vLLM, which serves a model: 3 decode steps',
    );
  });

  it('start-up that is left out is reported with its time', () => {
    const cold = observed(inTurn([COLD, 5000], [STEP, 1000], [STEP, 1000], [STEP, 1000]));
    expect(startUpRemark(cold)?.detail).toBe('Start-up took 3.90 ms and is left out with the first step');
  });
});
