import { about } from '../../remedies/remedies.js';
import { checkJobPhase, LEAST_PHASE } from '../kit/job-phase.js';
import type { AnyRule } from '../kit/rule.js';

export const rule: AnyRule = {
  reads: 'traces and logs',
  info: {
    id: 'logging-time',
    alias: null,
    title: 'Logging holds up training',
    needs: 'events of whyslow run',
    looksFor: 'Time in wandb, TensorBoard, MLflow, Accelerate’s trackers, tqdm, and in printing tensors.',
    why: 'A histogram, an image or a call to a server takes longer than a number. Printing a tensor copies it to the host and formats it.',
    ...about('fewer-logs'),
    thresholds: [LEAST_PHASE],
  },
  check: (view) =>
    checkJobPhase(view, 'logging', 'log call', {
      title: 'logging holds up training: log less, and less often',
    }),
};
