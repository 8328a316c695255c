import { share } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import { outsidePerStep } from '../../facts/job-time.js';
import { about, use } from '../../remedies/remedies.js';
import { checkJobPhase, LEAST_PHASE } from '../kit/job-phase.js';
import { type AnyRule, silent, threshold } from '../kit/rule.js';

const LEAST_UNKNOWN = threshold(
  'calls of the model without gradients',
  share(0.1),
  'of the steps and the time between them',
  'libraries make short calls without gradients themselves, torch.compile among them',
);

export const rule: AnyRule = {
  reads: 'traces and logs',
  info: {
    id: 'evaluation-time',
    alias: null,
    title: 'Evaluation takes a large part of the job',
    needs: 'events of whyslow run',
    looksFor:
      'Time from model.eval() to model.train(), in Trainer.evaluate, Trainer.predict and Lightning’s evaluation loop; or in calls of the model without gradients now and then.',
    why: 'No training happens meanwhile. A score for choosing a model rarely needs all of the data, and rarely this often.',
    ...about('fewer-evaluations'),
    thresholds: [LEAST_PHASE, LEAST_UNKNOWN],
  },
  check: (view) => {
    const has = (name: string) => view.job?.phases.some((p) => p.name === name && !p.own) ?? false;
    if (has('inference') && !has('evaluation'))
      return outsidePerStep(view.job!, 'inference') < LEAST_UNKNOWN.value * view.step.whole
        ? silent('the model is called without gradients for a small part of the time')
        : withoutEval(view);
    return checkJobPhase(view, 'evaluation', 'evaluation', {
      title: 'evaluation takes a large part of the job: less often, or on fewer batches',
    });
  },
};

/** The model called without gradients, but not in evaluation mode: what for is not known. */
const withoutEval = (view: RankView) =>
  checkJobPhase(view, 'inference', 'inference phase', {
    title: 'calls of the model without gradients take a large part of the job',
    remedy: use('fewer-evaluations', { withoutEval: true }),
  });
