import { describe, expect, it } from 'vitest';
import { drawView, expectGain, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './pageable-copies.js';

/** 256 MB at 5 GB/s, in which the host stands, then 10 ms of computing that the next copy waits for. */
const PAGEABLE = `
  host 1  ProfilerStep#1 0-60100 | aten::copy_ 0-60000 | cudaMemcpyAsync 10-60000 #1
  host 1  cudaLaunchKernel 60020-60030 #2
  gpu 7   Memcpy HtoD (Pageable -> Device) 10100-60000 #1 bytes=268435456 | gemm 60100-70100 #2`;
/** From pinned memory, but copy_ waits for it, behind 20 ms of computing; then 20 ms of Python before the next launch. */
const PINNED_BLOCKING = `
  host 1  ProfilerStep#1 0-45000 | aten::copy_ 0-25010 | cudaMemcpyAsync 10-20 #1 | cudaStreamSynchronize 30-25000
  host 1  cudaLaunchKernel 44980-44990 #2
  gpu 7   Memcpy HtoD (Pinned -> Device) 20000-24990 #1 bytes=268435456 | gemm 45000-65000 #2`;
/** Host far ahead, copy at the link's rate. */
const GOOD = `
  host 1  ProfilerStep#1 0-25000 | aten::copy_ 0-30 | cudaMemcpyAsync 10-20 #1 | cudaLaunchKernel 40-50 #2
  host 1  cudaDeviceSynchronize 60-24990
  gpu 7   Memcpy HtoD (Pinned -> Device) 30-5030 #1 bytes=268435456 | gemm 5030-24980 #2`;
/** A few labels. */
const SMALL = `
  host 1  ProfilerStep#1 0-25000 | aten::copy_ 0-50 | cudaMemcpyAsync 10-40 #1 | cudaLaunchKernel 60-70 #2
  host 1  cudaDeviceSynchronize 80-24990
  gpu 7   Memcpy HtoD (Pageable -> Device) 20-38 #1 bytes=65536 | gemm 80-24980 #2`;

const EXPECTED = { id: 'pageable-copy', addresses: 'data', unit: 'ms/step', placed: true } as const;

describe('pinned memory', () => {
  it('prices the copy at 85% of the link: 256 MB / 53.55 GB/s = 5.0 ms, and 10 ms of computing', () => {
    const found = fires(rule, drawView(steps(4, 60100, PAGEABLE)), EXPECTED);
    expectGain(found, 60.1 / (268.435456 / (63 * 0.85) + 10));
    expect(found.evidence[0]!.value).toBeCloseTo(49.9, 0);
    expect(found.evidence[0]!.text).toMatch(/5\.4 GB\/s/);
  });

  it('names it without a price on a device whose link is not known', () => {
    const found = fires(rule, drawView(steps(4, 60100, PAGEABLE), { header: {} }), EXPECTED);
    expect(found.price).toBeNull();
  });

  it('calls it data, not batches, if nothing shows a training loop', () => {
    const found = fires(rule, drawView(steps(4, 60100, PAGEABLE)), EXPECTED);
    expect(found.title).toMatch(/^data is copied/);
    const trains = PAGEABLE.replace(
      'host 1  cudaLaunch',
      'host 1  Optimizer.step#SGD.step 60010-60050 | cudaLaunch',
    );
    expect(fires(rule, drawView(steps(4, 60100, trains)), EXPECTED).title).toMatch(/^batches are copied/);
  });

  it('finds the host waiting for a pinned copy: without, 20 ms of Python overlap 25 ms of GPU work', () => {
    const view = drawView(steps(4, 45000, PINNED_BLOCKING));
    const found = fires(rule, view, { ...EXPECTED, id: 'blocking-copy' });
    expectGain(found, 45 / 25);
    expect(found.fix!.code).toMatch(/non_blocking=True/);
  });

  it.each([
    ['copies are pinned and asynchronous', /pinned and asynchronous/, GOOD],
    [
      'pageable copies are small',
      /small or hidden/,
      SMALL.replace('20-38', '20-58').replace('10-40 #1', '10-60 #1'),
    ],
    ['pageable copies are tiny', /tiny/, SMALL],
    ['nothing is copied', /nothing is copied/, GOOD.replace('Memcpy HtoD (Pinned -> Device)', 'relu')],
  ])('is silent when %s', (_, reason, drawing) => {
    expect(silence(rule, drawView(steps(4, 25000, drawing)))).toMatch(reason);
  });
});
