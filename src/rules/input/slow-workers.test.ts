import { describe, expect, it } from 'vitest';
import { drawView, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './slow-workers.js';

/** 40 ms of waiting for the workers, 10 ms of computing. */
const STARVED = `
  host 1  ProfilerStep#1 0-50000 | enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 0-40000
  host 1  cudaLaunchKernel 40000-40020 #1 | cudaStreamSynchronize 40030-50000
  gpu 7   gemm 40030-49990 #1`;
const FED = `
  host 1  ProfilerStep#1 0-50000 | enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 0-200
  host 1  cudaLaunchKernel 200-220 #1 | cudaStreamSynchronize 230-50000
  gpu 7   gemm 230-49990 #1`;

describe('workers that do not keep up', () => {
  it('finds the GPU idle in the loader although it has workers', () => {
    const expected = { id: 'slow-workers', addresses: 'data', unit: 'ms/step', placed: true } as const;
    const found = fires(rule, drawView(steps(4, 50000, STARVED)), expected);
    expect(found.evidence[0]!.value).toBeCloseTo(40, 0);
    expect(found.evidence[0]!.dur_ns).toBe(40e6);
    expect(found.price).toBeNull();
  });

  it.each([
    ['batches are ready', /input waits are/, FED],
    [
      'the main process loads',
      /no DataLoader with workers/,
      STARVED.replace('_MultiProcessing', '_SingleProcess'),
    ],
    ['nothing loads', /no DataLoader with workers/, STARVED.replace(/enumerate\S+/, 'aten::rand')],
  ])('is silent when %s', (_, reason, drawing) => {
    expect(silence(rule, drawView(steps(4, 50000, drawing)))).toMatch(reason);
  });
});
