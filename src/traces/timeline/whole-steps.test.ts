import { describe, expect, it } from 'vitest';
import { drawTrace } from '../../../test/helpers/draw-trace.js';
import { orderGpuWork } from './gpu-work.js';
import { findHostSpans } from './host-spans.js';
import { findStepTimes, wholeSteps } from './step-times.js';

/** Steps of 1 ms; each launches so many kernels. */
function timesOf(...kernels: readonly number[]) {
  const lines = kernels.map((count, step) => {
    const from = step * 1000;
    const id = 100 * (step + 1);
    return `host 1  ProfilerStep#${step + 1} ${from}-${from + 1000} | cudaLaunchKernel ${from + 10}-${from + 12} #${id} x${count}@20
            gpu 7   gemm ${from + 15}-${from + 30} #${id} x${count}@20`;
  });
  const trace = drawTrace(lines.join('\n'));
  const work = orderGpuWork(trace);
  return findStepTimes(trace, work, findHostSpans(trace, work), null);
}

describe('the last step', () => {
  it('the last step was cut when more than a fifth of its work is missing', () => {
    expect(timesOf(20, 20, 17)).toMatchObject({ cut: false });
    expect(timesOf(20, 20, 15)).toMatchObject({ cut: true });
  });

  it('the last step is left out when it was cut, and its work belongs to no step', () => {
    const { steps, stepOf } = timesOf(20, 20, 15);
    expect(steps.map((s) => s.index)).toEqual([1, 2]);
    expect([...stepOf].filter((s) => s === -1)).toHaveLength(15);
    expect(Math.max(...stepOf)).toBe(1);
  });

  it('says nothing when other steps differ by more than a fifth as well', () => {
    expect(timesOf(20, 17, 20, 15)).toMatchObject({ cut: true });
    expect(timesOf(20, 15, 20, 15)).toMatchObject({ cut: false });
  });

  it('the last step is compared with the one before, which must have work', () => {
    expect(timesOf(20)).toMatchObject({ cut: false });
    expect(timesOf(20, 15)).toMatchObject({ cut: true });
  });
});

/** A file that was cut, with the host steps ahead of the device. */
describe('several steps at the end', () => {
  it.each([
    [[20, 20, 7, 0, 0], 2],
    [[20, 19, 20, 0, 0], 3],
    [[20, 20, 18, 0], 3],
    [[20, 0], 1],
  ])('steps at the end with the work %j: %i are whole', (works, whole) => {
    expect(wholeSteps(works)).toBe(whole);
  });

  it.each([[[20, 0, 20, 0, 0]], [[20, 0, 0, 0]], [[0, 0]], [[]], [[20, 10, 20, 5]], [[0, 20, 20, 5]]])(
    'several steps at the end with the work %j: all, because steps differ anyway',
    (works) => {
      expect(wholeSteps(works)).toBe(works.length);
    },
  );
});
