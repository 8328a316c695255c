import { formatMs, formatWholePercent, ns, share } from '../../base/units.js';
import { jobCause } from '../../facts/causes.js';
import { about, use } from '../../remedies/remedies.js';
import { timeEvidence } from '../kit/evidence.js';
import { coresOf } from '../kit/loader.js';
import { type AnyRule, found, silent, threshold } from '../kit/rule.js';

const LEAST_ROLLOUT = threshold(
  'collecting data',
  share(0.2),
  'of the steps and the time between them',
  'not measured: below it there is little to gain',
);
/** What capture calls a phase in which the model is called without gradients, again in each iteration. */
const ROLLOUT = 'no_grad';
/** What jobs call it that name their phases. */
const NAMED = 'rollout';

const USUAL_ENVIRONMENTS = 8;

export const rule: AnyRule = {
  reads: 'traces and logs',
  unpriced: 'allowed',
  lines: /\bstep\b|\benv|reset|predict|forward|sleep/i,
  info: {
    id: 'rollout-time',
    alias: null,
    title: 'Collecting data for training takes a large part of each iteration',
    needs: 'events of whyslow run',
    looksFor:
      'Iterations that first call the model without gradients and then make several updates: the rollouts of reinforcement learning, with everything that runs between the calls.',
    why: 'With one environment at a time the model gets a batch of one, and the updates wait for the slowest call. Environments in separate processes run at the same time.',
    ...about('more-environments'),
    thresholds: [LEAST_ROLLOUT],
  },
  check(view, run) {
    const phase = view.job?.phases.find(({ name, own }) => name === ROLLOUT || (own && name === NAMED));
    if (!view.job || !phase) return silent('no rollout was seen');
    if (phase.name === ROLLOUT && view.job.iteration?.rollout !== true)
      return silent('the model is called without gradients, but not to collect data for several updates');
    const perStep = ns(phase.ns / view.job.steps);
    const part = share(perStep / view.step.whole);
    if (part < LEAST_ROLLOUT.value) return silent(`rollouts are ${formatWholePercent(part)} of the loop`);
    return found({
      id: jobCause(phase.name === ROLLOUT ? ROLLOUT : NAMED),
      title: 'collecting data takes a large part of each iteration',
      confidence: 0.9,
      addresses: 'host',
      evidence: [
        timeEvidence(
          view,
          perStep,
          `the rollout takes ${formatMs(perStep)} of each iteration (${formatWholePercent(part)})`,
        ),
      ],
      price: null,
      remedy: use('more-environments', {
        environments: coresOf(run.captured.get(view.rank)) ?? USUAL_ENVIRONMENTS,
      }),
    });
  },
};
