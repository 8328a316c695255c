import { expect, it } from 'vitest';
import { drawView, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { judge } from '../../answers/steps/judge.js';
import { rule } from './step-split.js';

const STEP = `
  host 1  ProfilerStep#1 0-10000 | cudaLaunchKernel 10-20 #1 | cudaDeviceSynchronize 30-9990
  gpu 7   nvjet_tst_256 30-9980 #1`;

it('is the verdict: it finds nothing of its own', () => {
  const view = drawView(steps(4, 10000, STEP));
  expect(silence(rule, view)).toMatch(/verdict itself/);
  const { shares } = judge(view);
  expect(Object.values(shares).reduce((a, b) => a + b, 0)).toBeCloseTo(1, 6);
});
