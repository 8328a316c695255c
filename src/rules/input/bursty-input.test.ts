import { describe, expect, it } from 'vitest';
import { drawView, expectGainBetween, fires, silence } from '../../../test/helpers/draw-run.js';
import { inTurn, steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './bursty-input.js';

const NEXT = 'enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__';
/** A batch that is there, one that is 20 ms late, one that is 200 ms late; 20 ms of computing with each. */
const READY = `
  host 1  ProfilerStep#1 0-20000 | ${NEXT} 0-100 | cudaLaunchKernel 100-120 #1 | cudaStreamSynchronize 130-20000
  gpu 7   gemm 150-19990 #1`;
const LATE = `
  host 1  ProfilerStep#1 0-40000 | ${NEXT} 0-20000 | cudaLaunchKernel 20000-20020 #1
  host 1  cudaStreamSynchronize 20030-40000
  gpu 7   gemm 20050-39990 #1`;
const VERY_LATE = `
  host 1  ProfilerStep#1 0-220000 | ${NEXT} 0-200000 | cudaLaunchKernel 200000-200020 #1
  host 1  cudaStreamSynchronize 200030-220000
  gpu 7   gemm 200050-219990 #1`;

const ready = [READY, 20000] as const;
const late = [LATE, 40000] as const;
const veryLate = [VERY_LATE, 220000] as const;

describe('bursts of input', () => {
  it('finds one late batch in four', () => {
    const view = drawView(inTurn(ready, ready, ready, late, ready, ready, ready, late));
    const found = fires(rule, view, { id: 'bursty-input', addresses: 'data', unit: 'ms', placed: true });
    // Most of two waits of 20 ms in 200 ms are bridged.
    expectGainBetween(found, 1.1, 200 / 160);
    expect(found.evidence[0]).toMatchObject({ step: 4, dur_ns: 20e6 });
    expect(found.evidence[0]!.value).toBeCloseTo(20, 0);
    expect(found.evidence[0]!.text).toMatch(/2 of 8 steps/);
  });

  it.each([
    ['every batch is there', /input waits are/, steps(6, 20000, READY)],
    ['most batches are late', /most steps wait/, inTurn(ready, late, late, ready, late, late)],
    [
      'the average rate is too low',
      /too slow on average/,
      inTurn(ready, ready, veryLate, ready, ready, veryLate),
    ],
    ['steps are few', /too few steps/, inTurn(ready, ready, late)],
    ['there are no workers', /no DataLoader with workers/, steps(6, 40000, LATE.replace('_Multi', '_'))],
  ])('is silent when %s', (_, reason, drawing) => {
    expect(silence(rule, drawView(drawing))).toMatch(reason);
  });
});
