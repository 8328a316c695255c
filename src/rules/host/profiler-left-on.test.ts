import { expect, it } from 'vitest';
import { drawView, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { found } from '../../base/check.js';
import { PROFILER_LEFT_ON } from '../../facts/step-facts.js';
import { rule } from './profiler-left-on.js';

const view = drawView(
  steps(4, 1000, 'host 1  ProfilerStep#1 0-1000 | cudaLaunchKernel 0-10 #1\ngpu 7  nvjet_tst_256 20-990 #1'),
);

it('fires where the event log says that the job records most of its own steps', () => {
  const notes = found('note', PROFILER_LEFT_ON, 1, 'a profiler of the job recorded 17 of 18 steps', '');
  const expected = { id: 'profiler-left-on', addresses: 'host', unit: null, placed: false } as const;
  expect(fires(rule, { ...view, notes }, expected).evidence[0]!.text).toMatch(/17 of 18 steps/);
  expect(silence(rule, view)).toMatch(/no profiler/);
});
