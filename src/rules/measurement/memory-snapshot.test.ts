import { describe, expect, it } from 'vitest';
import { drawView, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './memory-snapshot.js';

const ALLOCATES = `
  host 1  ProfilerStep#1 0-10000 | cudaMalloc 10-40 x3@40 | cudaFree 200-240 | cudaLaunchKernel 250-260 #1
  host 1  cudaDeviceSynchronize 270-9990
  gpu 7   nvjet_tst_256 270-9980 #1`;
const WARM = ALLOCATES.replace('cudaMalloc 10-40 x3@40 | cudaFree 200-240 | ', '');

describe('memory', () => {
  it('points to the snapshot when the allocator works in every step', () => {
    const expected = { id: 'memory-snapshot', addresses: null, unit: 'calls/step', placed: false } as const;
    const found = fires(rule, drawView(steps(4, 10000, ALLOCATES)), expected);
    expect(found.evidence[0]!.value).toBe(4);
    expect(found.price).toBeNull();
  });

  it('is silent when the allocator is warm', () => {
    expect(silence(rule, drawView(steps(4, 10000, WARM)))).toMatch(/allocator is quiet/);
  });

  it('is silent when it was called once in four steps', () => {
    const drawing = `${steps(4, 10000, WARM)}\nhost 1  cudaMalloc 10-40`;
    expect(silence(rule, drawView(drawing))).toMatch(/allocator is quiet/);
  });
});
