import { outsidePerStep } from '../../facts/job-time.js';
import { about } from '../../remedies/remedies.js';
import { removeCalls, takeFromLongest } from '../../replay/edits.js';
import { SYNC } from '../../replay/plan.js';
import { copiesToHost } from '../kit/host.js';
import { CHECKPOINT, PAUSE, PAUSES, pausesOf } from '../kit/pauses.js';
import { priceOf } from '../kit/price.js';
import { found, silent, type TraceRule } from '../kit/rule.js';

export const rule: TraceRule = {
  reads: 'traces',
  lines: /save|checkpoint|state_dict/i,
  unpriced: 'allowed',
  info: {
    id: 'checkpoint-in-step',
    alias: 'W4',
    title: 'A checkpoint is written on the training thread',
    needs: 'trace',
    looksFor:
      'Pauses of the training threads in steps that copy many tensors (megabytes in total) to the host.',
    why: 'While the training thread serializes and writes a checkpoint it launches nothing.',
    ...about('background-checkpoint'),
    thresholds: [PAUSE, PAUSES, CHECKPOINT],
  },
  check(view) {
    if (outsidePerStep(view.job, 'checkpoint') > 0) return silent('the log times checkpoints');
    const pauses = pausesOf(view);
    if ('silent' in pauses) return pauses;
    if (pauses.copied !== 'checkpoint') return silent('no checkpoint is copied to the host');
    return found({
      id: 'checkpoint-in-step',
      title: 'a checkpoint is written on the training thread',
      confidence: 0.75,
      addresses: 'host',
      evidence: [pauses.evidence],
      // A copy of each tensor with its wait, and Python between the copies.
      price: priceOf(view, (plan) => {
        takeFromLongest(plan.nodes.hostWork, pauses.perStep * plan.steps.length, pauses.longest.dur);
        const isWait = (n: number) => n > 0 && plan.nodes.kind[n] === SYNC && copiesToHost(plan, n - 1);
        removeCalls(plan, (n) => copiesToHost(plan, n) || isWait(n));
      }),
    });
  },
};
