import { describe, expect, it } from 'vitest';
import { drawView, expectGain, expectGainBetween, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { pauses } from './w04-pauses.js';

/** 10 ms of computing, then cudaFree with the GPU idle for as long. */
const ALLOCATES = `
  host 1  ProfilerStep#1 0-20100 | cudaLaunchKernel 10-20 #1 | cudaDeviceSynchronize 30-10050
  host 1  cudaFree 10060-20060
  gpu 7   nvjet_tst_256 30-10030 #1`;
/** 10 ms of computing, then 10 ms in which nothing is called. */
const PAUSES = `
  host 1  ProfilerStep#1 0-20100 | cudaLaunchKernel 10-20 #1 | cudaDeviceSynchronize 30-10050
  gpu 7   nvjet_tst_256 30-10030 #1`;
/** 20 tensors, 100 MB, go to the host before it. */
const CHECKPOINT = `
  host 1  ProfilerStep#1 0-20100 | cudaLaunchKernel 10-20 #1 | cudaDeviceSynchronize 30-8040
  host 1  cudaMemcpyAsync 8050-8145 #2 x20@100
  gpu 7   nvjet_tst_256 30-8030 #1 | Memcpy DtoH (Device -> Pageable) 8060-8140 #2 x20@100 bytes=5000000`;
const STEADY = PAUSES.replace('10050', '20090').replace('10030', '20080');
const QUICK = `
  host 1  ProfilerStep#1 0-20100 | cudaMalloc 10-100 | cudaLaunchKernel 110-120 #1 | cudaDeviceSynchronize 130-20090
  gpu 7   nvjet_tst_256 130-20080 #1`;

const EXPECTED = { addresses: 'host', unit: 'ms/step' } as const;
const draw = (drawing: string) => drawView(steps(6, 20100, drawing));

describe('W4: pauses', () => {
  it('prices a step without the 10 ms of the allocator', () => {
    const found = fires(pauses, draw(ALLOCATES), { ...EXPECTED, id: 'allocator-churn', placed: false });
    expectGain(found, 20.1 / 10.1);
    expect(found.evidence[0]!.value).toBe(10);
    expect(found.fix!.code).toMatch(/expandable_segments/);
  });

  it('prices empty_cache(), which frees many blocks in a row', () => {
    const drawing = ALLOCATES.replace('cudaFree 10060-20060', 'cudaFree 10060-10550 x20@500');
    const found = fires(pauses, draw(drawing), { ...EXPECTED, id: 'allocator-churn', placed: false });
    expectGainBetween(found, 20.1 / 10.5, 20.1 / 10); // 9.8 of 20.1 ms
  });

  it('prices a step without the 10 ms outside PyTorch, and says where one is', () => {
    const found = fires(pauses, draw(PAUSES), { ...EXPECTED, id: 'host-pause', placed: true });
    expectGain(found, 20.1 / 10.1);
    expect(found.evidence[0]!.dur_ns! / 1e6).toBeCloseTo(10, 0);
    expect(found.evidence[0]!.step).toBe(1);
  });

  it('calls it a checkpoint when megabytes are copied to the host', () => {
    const found = fires(pauses, draw(CHECKPOINT), { ...EXPECTED, id: 'checkpoint-in-step', placed: true });
    expectGainBetween(found, 1.9, 20.1 / 8);
    expect(found.fix!.code).toMatch(/async_save/);
  });

  it.each([
    ['the host waits for the GPU', STEADY],
    ['the allocator is quick', QUICK],
  ])('is silent when %s', (_, drawing) => {
    expect(silence(pauses, draw(drawing))).toMatch(/no allocator calls or pauses/);
  });
});
