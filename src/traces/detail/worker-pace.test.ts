import { describe, expect, it } from 'vitest';
import { drawView } from '../../../test/helpers/draw-run.js';
import { inTurn, steps } from '../../../test/helpers/draw-trace.js';
import { dropInputWaits, scaleHost } from '../../replay/edits.js';
import { priceOf } from '../../rules/kit/price.js';

const NEXT = 'enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__';
/** 10 ms of launches after a wait of `ms`: the host is busy all the time, the GPU hardly. */
const step = (ms: number, next = NEXT) => {
  const at = ms * 1000;
  return `
    host 1  ProfilerStep#1 0-${at + 10_000} | ${next} 0-${at} | aten::relu ${at}-${at + 18} x500@20
    host 1  cudaLaunchKernel ${at + 8}-${at + 15} #1 x500@20
    gpu 7   relu_elementwise ${at + 16}-${at + 18} #1 x500@20`;
};
const ms = (time: number) => time / 1e6;

describe('steps that wait for workers', () => {
  const view = drawView(steps(4, 22_000, step(12)));

  it('steps that wait for workers are as long without the profiler: the host is faster, the wait longer', () => {
    expect(ms(view.step.unprofiled)).toBeCloseTo(22, 1);
    expect(ms(view.time.idle_host)).toBeLessThan(7);
    expect(ms(view.time.idle_data)).toBeGreaterThan(15);
  });

  it('do not become shorter with a faster host, but with batches that are ready', () => {
    expect(priceOf(view, (plan) => scaleHost(plan, () => true, 0.5))!.speedup.likely).toBeCloseTo(1, 2);
    expect(priceOf(view, dropInputWaits)!.speedup.likely).toBeGreaterThan(2.5);
  });

  it('keep no pace where the log of the run has no waits', () => {
    const { baseline, facts } = drawView(steps(4, 22_000, step(12)), { unprofiledMs: 20 });
    // So the cost of recording is fitted to its step.
    expect(ms(baseline!.unprofiled)).toBeCloseTo(20, 1);
    expect(facts.detail!.plan!.pace).toBeCloseTo(22e6, -4);
  });
});

describe('workers do not set the pace', () => {
  const paceOf = (drawing: string) => drawView(drawing).facts.detail!.plan!.pace;

  it.each([
    ['where batches are ready', steps(4, 10_100, step(0.1))],
    ['where taking over a batch takes a while', steps(4, 12_000, step(2))],
    [
      'where the training thread loads',
      steps(4, 22_000, step(12, NEXT.replace('MultiProcessing', 'SingleProcess'))),
    ],
    [
      'where an epoch ends and they begin again',
      inTurn([step(12), 22_000], [`host 1  ${NEXT} 0-1000`, 1_000], [step(12), 22_000], [step(12), 22_000]),
    ],
  ])('workers do not set the pace: %s', (_, drawing) => expect(paceOf(drawing)).toBe(0));

  it('workers set the pace where every second step waits', () => {
    const [late, ready] = [[step(40), 50_000] as const, [step(0.1), 10_100] as const];
    expect(paceOf(inTurn(ready, late, ready, late, ready))).toBeGreaterThan(20e6);
  });
});

describe('batches made on the training thread', () => {
  const MAKES = 'enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__';
  const stepOf = (inside: string) => ms(drawView(steps(4, 22_000, step(12, MAKES) + inside)).step.unprofiled);
  const plain = stepOf('');

  it('batches made on the training thread in plain Python take as long without the profiler', () => {
    // Of 10 ms of launches, 0.52 are left.
    expect(plain).toBeCloseTo(12 + 10 * 0.52, 0);
  });

  it('batches made on the training thread with operators take less: as much as their events cost', () => {
    // 1,000 operators of up to 7 µs each; 0.52 of that is left.
    expect(plain - stepOf('\n host 1  aten::add 5-9 x1000@10')).toBeCloseTo(7 * 0.48, 0);
  });

  it('do not lower the cost of launches by their Python frames', () => {
    const saved = plain - stepOf('\n host 1  train.py(3): tokenize 5-9 x1000@10');
    expect(saved).toBeCloseTo(3, 0);
  });
});
