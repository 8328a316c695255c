import { describe, expect, it } from 'vitest';
import { drawView, expectGain, expectGainBetween, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './allocator-churn.js';

/** 10 ms of computing, then cudaFree with the GPU idle for as long. */
const ALLOCATES = `
  host 1  ProfilerStep#1 0-20100 | cudaLaunchKernel 10-20 #1 | cudaDeviceSynchronize 30-10050
  host 1  cudaFree 10060-20060
  gpu 7   nvjet_tst_256 30-10030 #1`;
const QUICK = `
  host 1  ProfilerStep#1 0-20100 | cudaMalloc 10-100 | cudaLaunchKernel 110-120 #1 | cudaDeviceSynchronize 130-20090
  gpu 7   nvjet_tst_256 130-20080 #1`;

const EXPECTED = { id: 'allocator-churn', addresses: 'host', unit: 'ms/step', placed: false } as const;
const draw = (drawing: string) => drawView(steps(6, 20100, drawing));

describe('allocator churn', () => {
  it('prices a step without the 10 ms of the allocator', () => {
    const found = fires(rule, draw(ALLOCATES), EXPECTED);
    expectGain(found, 20.1 / 10.1);
    expect(found.evidence[0]!.value).toBe(10);
    expect(rule.info.fix.code).toMatch(/expandable_segments/);
  });

  it('prices empty_cache(), which frees many blocks in a row', () => {
    const drawing = ALLOCATES.replace('cudaFree 10060-20060', 'cudaFree 10060-10550 x20@500');
    const found = fires(rule, draw(drawing), EXPECTED);
    expectGainBetween(found, 20.1 / 10.5, 20.1 / 10); // 9.8 of 20.1 ms
  });

  it('prices what the host could do while the GPU computes: cudaFree waits for it', () => {
    // 10 ms of Python and 10 ms of computing take turns. The free itself takes no time.
    const drawing = `
      host 1  ProfilerStep#1 0-20100 | aten::mm 9980-10020 | cudaLaunchKernel 10000-10010 #1 | cudaFree 10030-20060
      gpu 7   nvjet_tst_256 10050-20050 #1`;
    const found = fires(rule, drawView(steps(6, 20100, drawing), { unprofiledMs: 20.1 }), EXPECTED);
    expectGainBetween(found, 20.1 / 10.2, 20.1 / 10);
  });

  it('is silent when the allocator is quick', () => {
    expect(silence(rule, draw(QUICK))).toMatch(/allocator calls are 0\.4%/);
  });
});
