import { describe, expect, it } from 'vitest';
import { jobView } from '../../../test/helpers/draw-job.js';
import { fires, silence } from '../../../test/helpers/draw-run.js';
import { withLoader } from '../../../test/helpers/loader-record.js';
import type { LogView } from '../../diagnosis/ranks/rank-view.js';
import { rule } from './rollout-time.js';

const EXPECTED = { id: 'no_grad-time', addresses: 'host', unit: 'ms/step', placed: false } as const;
const ITERATION = { optimizerSteps: 16, optimizers: 1, backwardPasses: 16, varies: false, rollout: true };

/** Steps of 10 ms that begin with a rollout of this length. */
function collecting(ms: number, rollout = true): LogView {
  const view = jobView({
    step: (at) => [
      `no_grad ${ms} +${at} host`,
      `forward 1 +${at + ms} host`,
      `backward 1 +${at + ms + 1} host`,
    ],
  });
  return { ...view, job: { ...view.job!, iteration: { ...view.job!.iteration, ...ITERATION, rollout } } };
}

describe('time of rollouts', () => {
  it('is named with as many environments as there are cores', () => {
    const finding = fires(rule, collecting(7), EXPECTED, withLoader({}, 6));
    expect(finding.evidence[0]!.text).toBe('the rollout takes 7.00 ms of each iteration (70%)');
    expect(finding.fix!.code).toMatch(/n_envs=6,/);
    expect(finding.price).toBeNull();
  });

  it('may be named by the job', () => {
    const view = jobView({ step: (at) => [`rollout 8 +${at} host`, `backward 1 +${at + 8} host`] });
    fires(rule, view, { ...EXPECTED, id: 'rollout-time' });
  });

  it.each([
    ['there is none', jobView({}), 'no rollout was seen'],
    ['it is short', collecting(1), 'rollouts are 10% of the loop'],
    ['the calls feed no updates (a teacher)', collecting(7, false), 'not to collect data'],
  ])('is not worth a finding if %s', (_, view, reason) => {
    expect(silence(rule, view)).toContain(reason);
  });
});
