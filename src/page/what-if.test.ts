import { describe, expect, it } from 'vitest';
import { drawView } from '../../test/helpers/draw-run.js';
import { dropInputWaits, scaleHost, scaleWorks, skipWaits } from '../replay/edits.js';
import type { Plan } from '../replay/plan.js';
import { priceOf } from '../rules/kit/price.js';
import { whatIfOf } from './build-page.js';
import { AS_IT_IS, replayedStep, type WhatIfPlan } from './what-if.js';

/** Two steps of 100 µs: a batch after 40 µs, a copy, a kernel of 30 µs, and a wait for it. */
const view = drawView(
  Array.from({ length: 4 }, (_, s) => {
    const at = s * 100;
    return `
    host 1  ProfilerStep#${s + 1} ${at}-${at + 100} | enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ ${at}-${at + 40}
    host 1  cudaMemcpyAsync ${at + 42}-${at + 44} #${2 * s + 1} | cudaLaunchKernel ${at + 46}-${at + 50} #${2 * s + 2} | cudaStreamSynchronize ${at + 52}-${at + 86}
    gpu 7   Memcpy HtoD (Pinned -> Device) ${at + 45}-${at + 52} #${2 * s + 1} | gemm ${at + 55}-${at + 85} #${2 * s + 2}`;
  }).join('\n'),
  { unprofiledMs: 0.1 },
);
const whatIf = whatIfOf(view) as WhatIfPlan;
/** What rules promise for the same change. */
const engine = (edit: (plan: Plan) => void) => priceOf(view, edit)!.after;

describe('what if', () => {
  it('nothing changes, so the step stays', () => {
    expect(replayedStep(whatIf, AS_IT_IS)).toBeCloseTo(view.step.unprofiled, 3);
    expect(whatIf.levers).toEqual(['data', 'host', 'sync', 'copy', 'compute']);
  });

  it.each([
    ['no input wait', { data: 0 }, (plan: Plan) => dropInputWaits(plan)],
    ['half of the host time', { host: 0.5 }, (plan: Plan) => scaleHost(plan, () => true, 0.5)],
    ['no waits', { sync: 0 }, (plan: Plan) => skipWaits(plan, () => true)],
    [
      'faster kernels',
      { compute: 0.2 },
      (plan: Plan) => scaleWorks(plan, (w) => plan.works.sort[w] === 0, 0.2),
    ],
  ])('%s: the same step as the engine', (_, change, edit) => {
    const step = replayedStep(whatIf, { ...AS_IT_IS, ...change });
    expect(step).toBeLessThan(0.95 * view.step.unprofiled);
    expect(step).toBeCloseTo(engine(edit), 3);
  });

  it('says why there is nothing to replay', () => {
    expect(whatIfOf(null)).toMatch(/needs a trace/);
    expect(whatIfOf({ ...view, baseline: { ...view.baseline!, faithful: false } })).toMatch(
      /does not come out/,
    );
    expect(whatIfOf({ ...view, baseline: null })).toMatch(/cannot be replayed/);
  });
});
