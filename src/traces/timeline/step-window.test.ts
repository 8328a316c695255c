import { describe, expect, it } from 'vitest';
import { readTrace } from '../../../test/helpers/read-trace.js';
import { Trace } from '../../model/trace.js';
import { analyzeTrace } from '../analyze-trace.js';
import type { StepTime } from './step-times.js';
import { detailRange, firstDidMore, representative, windowOf } from './step-window.js';

/** Consecutive steps with these periods, each with `works` pieces of work. */
function stepsOf(periods: readonly number[], works = 100): StepTime[] {
  let frontier = 0;
  return periods.map((period, index) => {
    frontier += period;
    return { index, hostStart: frontier - period, hostEnd: frontier, frontier, works };
  });
}
const equal = (count: number) => Array<number>(count).fill(100);

describe('the window', () => {
  it('spans the first frontier to the last when steps are alike', () => {
    const window = windowOf(stepsOf([130, 100, 100, 110]), 0, 'profiler');
    expect(window).toMatchObject({ irregular: false, from: 130, to: 440 });
    expect(window.steps.map((s) => s.index)).toEqual([1, 2, 3]);
    expect(window.bounds).toEqual([130, 230, 330, 440]);
  });

  it('includes the first step when one takes far longer', () => {
    const window = windowOf(stepsOf([100, 100, 400]), 0, 'profiler');
    expect(window).toMatchObject({ irregular: true, from: 0, to: 600 });
    expect(window.steps.length).toBe(3);
  });

  it('leaves the first step out among ranks, whose profilers start at different times, unless it is one of few', () => {
    const ofRanks = { isOfRanks: true };
    expect(windowOf(stepsOf([900, 100, 100, 400]), 0, 'profiler', ofRanks).from).toBe(900);
    expect(windowOf(stepsOf([900, 100, 400]), 0, 'profiler', ofRanks).from).toBe(0);
    expect(windowOf(stepsOf([900, 100, 100, 400]), 0, 'profiler').from).toBe(0);
  });

  it('includes the first step when it is the only one', () => {
    expect(windowOf(stepsOf([100]), 20, 'profiler')).toMatchObject({ irregular: true, from: 20, to: 100 });
  });
});

describe('a first step that did more than the others', () => {
  const did = (works: readonly number[]) =>
    firstDidMore(works.map((w, index) => ({ index, hostStart: 0, hostEnd: 1, frontier: 1, works: w })));

  it.each([
    ['an evaluation was in it', [9000, 300, 310, 300], true],
    ['few pieces of work', [900, 300, 310, 300], false],
    ['it is like the others', [3100, 3000, 3100, 3000], false],
    ['another did as much', [9000, 300, 8800, 300], false],
    ['too few others', [9000, 300, 300], false],
  ])('a first step did more than the others: %s', (_, works, expected) => expect(did(works)).toBe(expected));
});

describe('a long trace', () => {
  it('a long trace is represented by its first steps when all are alike', () => {
    const steps = stepsOf(equal(1000), 1000);
    expect(representative(steps)).toBe(10);
    expect(detailRange(steps)).toBe(2);
  });

  it('a long trace is used in full when its first steps differ from the rest', () => {
    const steps = stepsOf([...equal(500), ...equal(500).map((t) => t * 2)], 1000);
    expect(representative(steps)).toBe(1000);
  });

  it('a long trace is represented by a few steps however much each launches', () => {
    const steps = stepsOf(equal(50), 1e6);
    expect([representative(steps), detailRange(steps)]).toEqual([6, 2]);
  });

  it('a long trace is used in full when it is short', () => {
    expect([representative(stepsOf(equal(20))), detailRange(stepsOf(equal(20)))]).toEqual([20, 20]);
  });

  it('a long trace has no larger detail window when it is four times as long', () => {
    const [short, long] = [60, 240].map((steps) => analyzeTrace(graphLoop(steps, 600), { steps: null })!);
    expect(long!.steps.total).toBe(short!.steps.total * 4);
    expect(long!.detail!.plan!.works.length).toBe(short!.detail!.plan!.works.length);
    expect(long!.detail!.plan!.works.length).toBeLessThanOrEqual(12_000);
    expect(long!.detail!.plan!.nodes.length).toBe(short!.detail!.plan!.nodes.length);
    expect(long!.kernels[0]!.count).toBe(short!.kernels[0]!.count);
  });
});

/** Steps of one launch, a CUDA graph of `kernels` kernels. */
function graphLoop(steps: number, kernels: number): Trace {
  const events: object[] = [];
  const span = (cat: string, name: string, tid: number, ts: number, dur: number, correlation: number) =>
    events.push({ ph: 'X', cat, name, pid: cat === 'kernel' ? 0 : 100, tid, ts, dur, args: { correlation } });
  for (let s = 0; s < steps; s++) {
    const start = s * (kernels + 100);
    span('user_annotation', `ProfilerStep#${s + 1}`, 1, start, kernels + 100, 0);
    span('cuda_runtime', 'cudaGraphLaunch', 1, start + 10, 20, s + 1);
    for (let k = 0; k < kernels; k++) span('kernel', 'gemm', 7, start + 40 + k, 0.8, s + 1);
  }
  return new Trace(readTrace(JSON.stringify({ traceEvents: events })).trace);
}
