import { describe, expect, it } from 'vitest';
import { type DrawnJob, jobView } from '../../../test/helpers/draw-job.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import { decide } from '../kit/decide.js';
import { claimOfRank } from '../steps/steps.js';
import { jobPhaseAnswer } from './job-phase.js';

const answered = (view: RankView) =>
  decide({ views: [view] }, [jobPhaseAnswer, () => claimOfRank(view)]).verdict;
const decided = (drawn: DrawnJob) => answered(jobView(drawn));

describe('a phase of the job', () => {
  it('is the answer if it takes more than anything in the steps', () => {
    const decision = decided({ phases: { checkpoint: { ms: 2000, count: 10 } }, startUpMs: 1000 });
    expect(decision).toMatchObject({
      bottleneck: 'host',
      cause: 'checkpoint-time',
      confidence: 0.95,
      second: null,
    });
    expect(decision.sentence).toMatch(
      /^Outside training: 67% of the job’s time after start-up is saving checkpoints\. Its training steps are compute-bound: .* 90% of every training step$/,
    );
  });

  it('leaves the answer to the steps if it takes less', () => {
    const decision = decided({ phases: { evaluation: { ms: 800, count: 10 } } });
    expect(decision).toMatchObject({ bottleneck: 'compute', cause: 'cpu-busy' });
    expect(decision.sentence).toMatch(/^Compute-bound: .* 90% of every training step$/);
  });

  it('names a close second', () => {
    expect(decided({ phases: { evaluation: { ms: 1000, count: 10 } } }).second).toBe('compute');
  });

  it('is never start-up, nor what comes once', () => {
    const once = { compile: { ms: 9000, count: 1, last: 0 } };
    expect(decided({ phases: once, startUpMs: 60_000, endMs: 9000 }).bottleneck).toBe('compute');
  });

  it('is called a rollout if iterations are known to begin with one', () => {
    const view = jobView({ step: (at) => [`no_grad 8 +${at} host`, `backward 1 +${at + 8} host`] });
    const sentence = (rollout: boolean) => {
      const iteration = { optimizerSteps: 4, optimizers: 1, backwardPasses: 4, varies: false, rollout };
      const known = { ...view, job: { ...view.job!, iteration } };
      return answered(known).sentence;
    };
    expect(sentence(true)).toMatch(/is collecting data \(/);
    expect(sentence(false)).toMatch(/a rollout or a validation/);
  });

  it('may be one that the job names itself', () => {
    const decision = decided({ step: (at) => [`rollout 8 +${at} host`, `backward 1 +${at + 8} host`] });
    expect(decision).toMatchObject({
      bottleneck: 'host',
      cause: 'rollout-time',
      sentence: 'Host-bound: 80% of the job’s time is “rollout”',
    });
  });
});
