import { describe, expect, it } from 'vitest';
import { drawView, expectGainBetween, fires, silence } from '../../../test/helpers/draw-run.js';
import { inTurn, steps } from '../../../test/helpers/draw-trace.js';
import { loaderRecord } from '../../../test/helpers/loader-record.js';
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
/** The same with batches that are copied from pinned memory. */
const READY_COPIED = `${READY}
  host 1  cudaMemcpyAsync 122-125 #2
  gpu 7   Memcpy HtoD (Pinned -> Device) 19991-19992 #2 bytes=4096`;
const LATE_COPIED = `${LATE}
  host 1  cudaMemcpyAsync 20022-20025 #2
  gpu 7   Memcpy HtoD (Pinned -> Device) 39991-39992 #2 bytes=4096`;
/** The loader's own thread pins a batch while the step computes. */
const ARRIVES = '\nhost 2  cudaPointerGetAttributes 5000-5001';

const ready = [READY, 20000] as const;
const late = [LATE, 40000] as const;
const veryLate = [VERY_LATE, 220000] as const;
const refilled = [READY_COPIED + ARRIVES, 20000] as const;
const usedUp = [READY_COPIED, 20000] as const;
const lateCopied = [LATE_COPIED, 40000] as const;
const EXPECTED = { id: 'bursty-input', addresses: 'data', unit: 'ms', placed: true } as const;

describe('bursts of input', () => {
  it('prices one late batch in four where workers refill the queue meanwhile', () => {
    const cycle = [refilled, refilled, refilled, lateCopied] as const;
    const view = drawView(inTurn(...cycle, ...cycle));
    expect(view.facts.input.queue).toMatchObject({ taken: 8, deliveredUnasked: 6 });
    const found = fires(rule, view, EXPECTED);
    // A cycle of 100 ms has one wait of 20 ms, most of it bridged.
    expectGainBetween(found, 1.15, 100 / 80);
    expect(found.evidence[0]).toMatchObject({ step: 4, dur_ns: 20e6 });
    expect(found.evidence[0]!.value).toBeCloseTo(20, 0);
    expect(found.evidence[0]!.text).toMatch(/2 of 8 steps/);
  });

  it('is named without a price where nothing shows that the loader keeps up', () => {
    const view = drawView(inTurn(ready, ready, ready, late, ready, ready, ready, late));
    expect(fires(rule, view, EXPECTED).price).toBeNull();
  });

  it('doubles the queue that capture saw, in the words of the framework', () => {
    const view = drawView(inTurn(ready, ready, ready, late, ready, ready, ready, late));
    const loader = loaderRecord({ numWorkers: 4, prefetchFactor: 4, ready: 6, framework: 'transformers' });
    const found = fires(rule, view, EXPECTED, { captured: new Map([[0, { cores: null, loader }]]) });
    expect(found.fix!.code).toBe('TrainingArguments(..., dataloader_prefetch_factor=8)');
    expect(found.price).not.toBeNull();
  });

  it('is silent where capture saw that hardly a batch is ready', () => {
    const view = drawView(inTurn(ready, ready, ready, late, ready, ready, ready, late));
    const loader = loaderRecord({ numWorkers: 4, ready: 0.3 });
    expect(silence(rule, view, { captured: new Map([[0, { cores: null, loader }]]) })).toMatch(/too slow/);
  });

  it.each([
    ['every batch is there', /input waits are/, steps(6, 20000, READY)],
    ['most batches are late', /most steps wait/, inTurn(ready, late, late, ready, late, late)],
    [
      'the average rate is too low',
      /too slow on average/,
      inTurn(ready, ready, veryLate, ready, ready, veryLate),
    ],
    ['a stock of batches ends', /do not recur/, inTurn(ready, ready, ready, ready, ready, late, late)],
    ['steps are few', /too few steps/, inTurn(ready, ready, late)],
    ['there are no workers', /no DataLoader with workers/, steps(6, 40000, LATE.replace('_Multi', '_'))],
  ])('is silent when %s', (_, reason, drawing) => {
    expect(silence(rule, drawView(drawing))).toMatch(reason);
  });

  it('is silent when a queue was used up: hardly a batch arrived while steps found theirs ready', () => {
    const before = ['host 2  cudaPointerGetAttributes 10-11', 100] as const;
    const view = drawView(inTurn(before, usedUp, usedUp, lateCopied, usedUp, usedUp, lateCopied));
    expect(silence(rule, view)).toMatch(/too slow on average/);
  });
});
