import { describe, expect, it } from 'vitest';
import { cpuTime } from '../../../test/helpers/cpu-time.js';
import { drawJson, drawTrace } from '../../../test/helpers/draw-trace.js';
import { readTrace } from '../../../test/helpers/read-trace.js';
import { smallest } from '../../base/statistics.js';
import type { StepRange } from '../../facts/step-facts.js';
import { Trace } from '../../model/trace.js';
import { orderGpuWork } from './gpu-work.js';
import { findHostSpans } from './host-spans.js';
import { findStepTimes } from './step-times.js';

/** Times in microseconds. Drawings begin at 0. */
function timesOf(drawing: string, range: StepRange | null = null) {
  return timesIn(drawTrace(drawing), range);
}

function timesIn(trace: Trace, range: StepRange | null = null) {
  const work = orderGpuWork(trace);
  const times = findStepTimes(trace, work, findHostSpans(trace, work), range);
  return {
    source: times.source,
    cut: times.cut,
    begin: times.begin / 1000,
    steps: times.steps.map((s) => s.index),
    frontiers: times.steps.map((s) => s.frontier / 1000),
    works: times.steps.map((s) => s.works),
    stepOf: [...times.stepOf],
  };
}

/** The host is done with a step in 20 µs, the device needs 50. */
const AHEAD = `
  host 1  ProfilerStep#1 0-20 | cudaLaunchKernel 2-4 #1 | cudaLaunchKernel 6-8 #2
  host 1  ProfilerStep#2 20-40 | cudaLaunchKernel 22-24 #3 | cudaLaunchKernel 26-28 #4
  host 1  ProfilerStep#3 40-60 | cudaLaunchKernel 42-44 #5 | cudaLaunchKernel 46-48 #6
  gpu 7   k 5-30 #1 | k 30-55 #2 | k 55-80 #3 | k 80-105 #4 | k 105-130 #5 | k 130-155 #6`;

describe('frontiers', () => {
  it('come from the work of each step when the host runs ahead', () => {
    expect(timesOf(AHEAD)).toMatchObject({ frontiers: [55, 105, 155], stepOf: [0, 0, 1, 1, 2, 2] });
  });

  it('come after the last step of the host while the queue drains', () => {
    const { frontiers, begin } = timesOf(AHEAD);
    expect(frontiers.at(-1)).toBeGreaterThan(60);
    expect(begin).toBe(0);
  });

  it('never go back: work on another stream may outlast the next step', () => {
    const drawing = `
      host 1  ProfilerStep#1 0-20 | cudaLaunchKernel 2-4 #1 | ProfilerStep#2 20-40 | cudaLaunchKernel 22-24 #2
      gpu 7   k 5-90 #1
      gpu 8   k 30-50 #2`;
    expect(timesOf(drawing).frontiers).toEqual([90, 90]);
  });

  it('frontiers are the ends of the host for steps that launch nothing', () => {
    const drawing = `
      host 1  ProfilerStep#1 0-20 | cudaLaunchKernel 2-4 #1 | ProfilerStep#2 20-40 | ProfilerStep#3 40-60
      gpu 7   k 5-15 #1`;
    expect(timesOf(drawing).frontiers).toEqual([15, 40, 60]);
    expect(timesOf('host 1  ProfilerStep#1 0-20 | aten::mm 2-4 | ProfilerStep#2 20-40').frontiers).toEqual([
      20, 40,
    ]);
  });

  it('use the start of the work when no launch was recorded at all', () => {
    const drawing = 'host 1  ProfilerStep#1 0-20 | ProfilerStep#2 20-40\ngpu 7  k 5-18 | k 25-45';
    expect(timesOf(drawing).stepOf).toEqual([0, 1]);
  });

  it('use the operators that the work belongs to when no launch was recorded at all', () => {
    const text = drawJson(AHEAD.replaceAll('cudaLaunchKernel', 'aten::mm'));
    const byOperator = text.replaceAll('"correlation"', '"External id"');
    expect(timesIn(new Trace(readTrace(byOperator).trace))).toEqual(timesOf(AHEAD));
  });

  it('leave out single pieces of work without a launch', () => {
    expect(timesOf(AHEAD.replace('k 130-155 #6', 'k 130-155 #99')).frontiers).toEqual([55, 105]);
  });
});

describe('the beginning', () => {
  it('the first step begins at the end of earlier work that it had to wait for', () => {
    const drawing = `
      host 1  aten::mm 0-10 | cudaLaunchKernel 2-4 #9
      host 1  ProfilerStep#1 10-40 | cudaLaunchKernel 12-14 #1
      gpu 7   k 5-30 #9 | k 30-38 #1`;
    expect(timesOf(drawing)).toMatchObject({ begin: 30, stepOf: [-1, 0] });
  });

  it("is the host's when the device was idle", () => {
    const drawing = `
      host 1  aten::mm 0-10 | cudaLaunchKernel 2-4 #9
      host 1  ProfilerStep#1 10-40 | cudaLaunchKernel 12-14 #1
      gpu 7   k 5-8 #9 | k 30-38 #1`;
    expect(timesOf(drawing).begin).toBe(10);
  });
});

describe('a last step', () => {
  it('a last step that lacks a fifth of the work was cut and is left out', () => {
    const drawing = AHEAD.replace('| k 130-155 #6', '');
    expect(timesOf(drawing)).toMatchObject({ cut: true, steps: [1, 2], stepOf: [0, 0, 1, 1, -1] });
  });

  it('stays where the work of steps differs anyway', () => {
    const drawing = AHEAD.replace('| k 130-155 #6', '').replace('| k 30-55 #2', '');
    expect(timesOf(drawing)).toMatchObject({ cut: false, steps: [1, 2, 3], works: [1, 2, 1] });
  });
});

describe('steps without marks', () => {
  const repeating = (name: string) => `
    host 1  ${name} 0-5 | cudaLaunchKernel 6-8 #1 | ${name} 20-25 | cudaLaunchKernel 26-28 #2 | aten::mm 30-40
    gpu 7   k 10-18 #1 | k 30-38 #2`;

  it('end with the optimizer', () => {
    expect(timesOf(repeating('Optimizer.step#SGD.step'))).toMatchObject({
      source: 'optimizer',
      stepOf: [1, -1],
      frontiers: [5, 18],
    });
  });

  it('begin with a batch', () => {
    const name = 'enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__';
    expect(timesOf(repeating(name))).toMatchObject({
      source: 'dataloader',
      stepOf: [0, 1],
      frontiers: [18, 38],
    });
  });

  it('steps without marks are the whole recording when nothing repeats', () => {
    expect(timesOf(repeating('aten::linear'))).toMatchObject({
      source: 'window',
      steps: [0],
      begin: 0,
      frontiers: [38],
      works: [2],
    });
  });

  it('steps without marks are the extent of the GPU work where the host was not recorded', () => {
    expect(timesOf('gpu 7  k 0-8 #1 | k 30-38 #2')).toMatchObject({
      source: 'window',
      frontiers: [38],
      works: [2],
    });
  });
});

describe('marks', () => {
  it('marks of other threads or windows are left out where they repeat or overlap', () => {
    const drawing = 'host 1  ProfilerStep#1 0-20 | ProfilerStep#2 20-40\nhost 2  ProfilerStep#1 3-22';
    expect(timesOf(drawing).steps).toEqual([1, 2]);
  });
});

describe('a range of steps', () => {
  it('begins where the step before it was done', () => {
    expect(timesOf(AHEAD, { first: 2, last: 2 })).toMatchObject({
      steps: [2],
      begin: 55,
      frontiers: [105],
      stepOf: [-1, -1, 0, 0, -1, -1],
    });
  });

  it('may be open', () => {
    expect(timesOf(AHEAD, { first: null, last: 2 })).toMatchObject({ steps: [1, 2], begin: 0 });
    expect(timesOf(AHEAD, { first: 2, last: null })).toMatchObject({ steps: [2, 3], begin: 55 });
  });

  it('may hold no step', () => {
    expect(timesOf(AHEAD, { first: 8, last: 9 })).toMatchObject({ steps: [], stepOf: Array(6).fill(-1) });
  });

  it('leaves the cut step out too', () => {
    const drawing = AHEAD.replace('| k 130-155 #6', '');
    expect(timesOf(drawing, { first: 2, last: 3 })).toMatchObject({ steps: [2], stepOf: [-1, -1, 0, 0, -1] });
  });
});

/** Kernels launched by the first and the last of `count` steps in turn. */
function alternating(count: number): string {
  const steps = Array.from({ length: count }, (_, i) => `ProfilerStep#${i} ${i * 100}-${i * 100 + 99}`);
  const from = (i: number) => (i % 2) * (count - 1) * 100 + 1 + i * 0.01;
  const each = Array.from({ length: 4000 }, (_, i) => i);
  return `
  host 1  ${steps.join(' | ')}
  host 2  ${each.map((i) => `cudaLaunchKernel ${from(i)}-${from(i) + 0.001} #${i}`).join(' | ')}
  gpu 7   ${each.map((i) => `k ${count * 100 + i}-${count * 100 + i + 1} #${i}`).join(' | ')}`;
}

it('finds the step of launches that alternate between first and last, in little time for many steps', () => {
  expect(timesOf(alternating(3)).stepOf.slice(0, 4)).toEqual([0, 2, 0, 2]);
  const trace = drawTrace(alternating(40_000));
  const work = orderGpuWork(trace);
  const host = findHostSpans(trace, work);
  // The best of three: garbage of other tests may be collected during one of them.
  const costs = [0, 1, 2].map(() => {
    const from = cpuTime();
    findStepTimes(trace, work, host, null);
    return cpuTime() - from;
  });
  const { stepOf } = findStepTimes(trace, work, host, null);
  // A search that walks from step to step would take time that grows with the square of the steps.
  expect(smallest(costs)).toBeLessThan(150);
  expect([...new Set(stepOf)]).toEqual([0, 39_999]);
});
