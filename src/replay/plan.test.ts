import { describe, expect, it } from 'vitest';
import { drawTrace, steps } from '../../test/helpers/draw-trace.js';
import { analyzeTrace } from '../traces/analyze-trace.js';
import {
  addHostPerStep,
  addInputWaits,
  dropInputWaits,
  removeCalls,
  removeOperators,
  scaleHost,
  scaleWorks,
  skipWaits,
  takeFromLongest,
} from './edits.js';
import { copyPlan, type Plan } from './plan.js';

const plan = analyzeTrace(
  drawTrace(
    steps(
      3,
      1000,
      `
  host 1  ProfilerStep#1 0-1000 | aten::relu 100-150 x4@150 | cudaLaunchKernel 120-140 #1 x4@150
  host 1  cudaDeviceSynchronize 800-990
  gpu 7   relu_elementwise 150-250 #1 x4@150`,
    ),
  ),
  { steps: null },
)!.detail!.plan!;

describe('a copy of a plan', () => {
  it.each<[string, (copy: Plan) => void]>([
    ['scaleWorks', (copy) => scaleWorks(copy, () => true, 0.5)],
    ['removeCalls', (copy) => removeCalls(copy, () => true)],
    ['removeOperators', (copy) => removeOperators(copy, () => true)],
    ['skipWaits', (copy) => skipWaits(copy, () => true)],
    ['scaleHost', (copy) => scaleHost(copy, () => true, 0.5)],
    ['addHostPerStep', (copy) => addHostPerStep(copy, () => true, 1000)],
    ['addInputWaits', (copy) => addInputWaits(copy, 1000)],
    ['dropInputWaits', (copy) => dropInputWaits(copy)],
    ['takeFromLongest', (copy) => takeFromLongest(copy.nodes.hostWork, 1e9, 1e9)],
  ])('takes %s without a change of the plan', (_, edit) => {
    const before = structuredClone(plan);
    edit(copyPlan(plan));
    expect(plan).toEqual(before);
  });

  it('shares only columns of what was recorded', () => {
    const copy = copyPlan(plan);
    const shared = (part: 'nodes' | 'works') =>
      Object.entries(copy[part])
        .filter(([name, column]) => typeof column === 'object' && Reflect.get(plan[part], name) === column)
        .map(([name]) => name)
        .sort();
    expect(shared('nodes')).toEqual(['firstWork', 'kind', 'queued', 'roles', 'step', 'workCount']);
    expect(shared('works')).toEqual(['bytes', 'kernel', 'roles', 'sort', 'step', 'stream']);
  });
});
