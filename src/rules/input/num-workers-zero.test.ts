import { describe, expect, it } from 'vitest';
import { drawView, expectGain, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './num-workers-zero.js';

/** 100 ms to make a batch; 10 ms to compute with it, which the next batch hides. */
const LOADS_IN_MAIN = `
  host 1  ProfilerStep#1 0-100100 | enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ 0-100000
  host 1  cudaLaunchKernel 100000-100020 #1
  gpu 7   gemm 100030-110030 #1`;
/** 1 ms to make a batch, 49 ms to compute. */
const FAST_LOADER = `
  host 1  ProfilerStep#1 0-50000 | enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ 0-1000
  host 1  cudaLaunchKernel 1000-1020 #1 | cudaStreamSynchronize 1030-50000
  gpu 7   gemm 1030-49990 #1`;
/** No loader: 100 ms of Python, then the batch is copied. */
const BY_HAND = `
  host 1  ProfilerStep#1 0-100100 | cudaMemcpyAsync 100000-100010 #1 | cudaLaunchKernel 100020-100030 #2
  gpu 7   Memcpy HtoD (Pinned -> Device) 100020-100040 #1 bytes=65536 | gemm 100040-110040 #2`;

const EXPECTED = { id: 'num-workers-zero', addresses: 'data', unit: 'ms/step', placed: true } as const;

describe('num_workers=0', () => {
  it('prices eight workers: 100 ms * 1.1 / 8 = 13.75 ms, longer than the 10 ms of computing', () => {
    const found = fires(rule, drawView(steps(4, 100100, LOADS_IN_MAIN)), EXPECTED);
    expectGain(found, 100.1 / 13.75);
    expect(found.evidence[0]!.value).toBeCloseTo(90, 0);
    expect(found.evidence[0]!.dur_ns).toBe(100e6);
  });

  it('cannot be faster than computing: 100 ms to load, 50 ms to compute', () => {
    const slow = LOADS_IN_MAIN.replace('100030-110030', '100030-150030');
    expectGain(fires(rule, drawView(steps(4, 100100, slow)), EXPECTED), 100.1 / 50);
  });

  it('without a loader, takes the time before the copy of a batch for making it, with less confidence', () => {
    const view = drawView(steps(4, 100100, BY_HAND));
    const found = fires(rule, view, { ...EXPECTED, id: 'input-on-training-thread' });
    expectGain(found, 100.1 / 13.75);
    expect(found.confidence).toBeLessThan(0.9);
  });

  it.each([
    [
      'workers load already',
      /already has workers/,
      steps(4, 100100, LOADS_IN_MAIN.replace('_SingleProcess', '_MultiProcessing')),
    ],
    [
      'there is no loader',
      /no DataLoader/,
      steps(4, 100100, LOADS_IN_MAIN.replace(/enumerate\S+/, 'aten::rand')),
    ],
    ['batches are quickly made', /input waits are/, steps(4, 50000, FAST_LOADER)],
  ])('is silent when %s', (_, reason, drawing) => {
    expect(silence(rule, drawView(drawing))).toMatch(reason);
  });
});
