import { expect, it } from 'vitest';
import { drawView } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { ns } from '../../base/units.js';
import { selfCheck } from './run-health.js';

const view = drawView(
  steps(
    4,
    1000,
    `
  host 1  ProfilerStep#1 0-1000 | cudaLaunchKernel 10-20 #1 | cudaDeviceSynchronize 30-990
  gpu 7   nvjet_tst_256 30-980 #1`,
  ),
);
const faults = (changed: object) => selfCheck({ ...view, ...changed } as typeof view).map((p) => p.message);

it('a rank whose figures fit together has no fault', () => expect(faults({})).toEqual([]));

it('parts that do not add up to the step are reported as our fault', () =>
  expect(faults({ time: { ...view.time, compute: ns(2 * view.time.compute) } })).toEqual([
    'the parts of the step do not add up to the step',
  ]));

it('a step shorter than the longest kernel in it is reported as our fault', () => {
  const kernels = view.facts.kernels.map((k) => ({ ...k, longest: 2_000_000 }));
  expect(faults({ facts: { ...view.facts, kernels } })).toEqual([
    'the step is shorter than the longest kernel in it',
  ]);
  const waiting = kernels.map((k) => ({ ...k, class: 'comms' }));
  expect(faults({ facts: { ...view.facts, kernels: waiting } })).toEqual([]);
});
