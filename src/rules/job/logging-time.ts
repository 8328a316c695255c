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
    fix: {
      text: 'Log every few dozen steps, several values in one call, and numbers rather than tensors, histograms or images.',
      code: 'if step % 50 == 0:\n    run.log({"loss": loss.item(), "lr": lr})   # one call, plain numbers',
    },
    check: 'Curves have fewer points.',
    cost: 'knob',
    risk: 'none',
    thresholds: [LEAST_PHASE],
  },
  check: (view) =>
    checkJobPhase(view, 'logging', 'log call', {
      title: 'logging holds up training: log less, and less often',
    }),
};
