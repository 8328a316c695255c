import { describe, expect, it } from 'vitest';
import { drawJson } from '../../../test/helpers/draw-trace.js';
import { readTrace } from '../../../test/helpers/read-trace.js';
import { Trace } from '../../model/trace.js';
import { completeSteps } from './complete-steps.js';

/** Four steps with a product and an addition each. `lost`: kernels that are not in the file. */
function wholeOf(lost: readonly string[], header = {}) {
  const kernels = ['gemm 15-20 #1', 'add 35-40 #2', 'gemm 115-120 #3', 'add 135-140 #4'];
  const later = ['gemm 215-220 #5', 'add 235-240 #6', 'gemm 315-320 #7', 'add 335-340 #8'];
  const left = [...kernels, ...later].filter((k) => !lost.some((id) => k.endsWith(id)));
  const step = (n: number) =>
    `host 1  ProfilerStep#${n + 1} ${n * 100}-${n * 100 + 90} | aten::mm ${n * 100 + 10}-${n * 100 + 14} #${2 * n + 1} | aten::add ${n * 100 + 30}-${n * 100 + 34} #${2 * n + 2}`;
  const text = drawJson(
    `${[0, 1, 2, 3].map(step).join('\n')}\n${left.length > 0 ? `gpu 7  ${left.join(' | ')}` : ''}`,
    header,
  );
  const trace = new Trace(readTrace(text.replaceAll('"correlation"', '"External id"')).trace);
  return completeSteps(trace, trace.steps).map((s) => s.index);
}

describe('of a file that was cut', () => {
  it('all steps are used that lack nothing', () => {
    expect(wholeOf([])).toEqual([1, 2, 3, 4]);
  });

  it('the longest run of whole steps is used, wherever events are missing', () => {
    expect(wholeOf(['#8'])).toEqual([1, 2, 3]);
    expect(wholeOf(['#4'])).toEqual([3, 4]);
    expect(wholeOf(['#1', '#2', '#8'])).toEqual([2, 3]);
  });

  it('no step is whole without its products, even if all lack them', () => {
    expect(wholeOf(['#1', '#3', '#5', '#7'])).toEqual([]);
  });

  it('operators that start nothing in any step prove nothing', () => {
    expect(wholeOf(['#2', '#4', '#6', '#8'])).toEqual([1, 2, 3, 4]);
  });

  it('no step is whole without GPU work, where there is a GPU', () => {
    const all = ['#1', '#2', '#3', '#4', '#5', '#6', '#7', '#8'];
    expect(wholeOf(all)).toEqual([1, 2, 3, 4]);
    expect(wholeOf(all, { deviceProperties: [{ id: 0, name: 'GPU' }] })).toEqual([]);
  });
});
