import { about } from '../../remedies/remedies.js';
import { checkJobPhase, LEAST_PHASE } from '../kit/job-phase.js';
import type { AnyRule } from '../kit/rule.js';

export const rule: AnyRule = {
  reads: 'traces and logs',
  unpriced: 'allowed',
  info: {
    id: 'generation-time',
    alias: null,
    title: 'Generation takes a large part of the job',
    needs: 'events of whyslow run',
    looksFor: 'Time in model.generate and in vLLM, of rollouts and of evaluations that generate.',
    why: 'Every token is a separate pass through the whole model, for a small batch. A batch lasts as long as its longest answer. No training happens meanwhile.',
    ...about('faster-generation'),
    thresholds: [LEAST_PHASE],
  },
  check: (view) =>
    checkJobPhase(view, 'generation', 'generation', {
      title: 'generation takes a large part of the job',
      // How much faster another engine is, is unknown here.
      price: null,
    }),
};
