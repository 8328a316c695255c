import { about } from '../../remedies/remedies.js';
import { checkJobPhase, LEAST_PHASE } from '../kit/job-phase.js';
import type { AnyRule } from '../kit/rule.js';

export const rule: AnyRule = {
  reads: 'traces and logs',
  info: {
    id: 'checkpoint-time',
    alias: 'W4',
    title: 'Saving checkpoints holds up training',
    needs: 'events of whyslow run',
    looksFor:
      'Time in torch.save, safetensors, torch.distributed.checkpoint and the checkpoints of Trainer, Lightning, Accelerate and DeepSpeed.',
    why: 'While the training thread copies, serializes and writes a checkpoint, nothing trains. With several ranks, all wait for the one that saves.',
    ...about('fewer-checkpoints'),
    thresholds: [LEAST_PHASE],
  },
  check: (view) =>
    checkJobPhase(view, 'checkpoint', 'checkpoint', {
      title: 'saving checkpoints holds up training: save less often, or in the background',
    }),
};
