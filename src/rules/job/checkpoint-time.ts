import { checkJobPhase, inWordsOf, LEAST_PHASE } from '../kit/job-phase.js';
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
    fix: {
      text: 'Save less often: every half hour loses at most half an hour of work. Or save in the background: async_save returns once the state is copied to host memory. With plain data parallelism one rank is enough.',
      code: 'import torch.distributed.checkpoint as dcp\nstate = {"model": model.state_dict()}\nif step % 1000 == 0: saving = dcp.async_save(state, checkpoint_id=path)\n# Trainer: save_steps=1000\n# Lightning: ModelCheckpoint(every_n_train_steps=1000)',
    },
    check:
      'Load a checkpoint that was written in the background and compare it. Wait for the last one (saving.result()) before the job ends. Host memory holds a copy meanwhile.',
    cost: 'knob',
    risk: 'memory',
    thresholds: [LEAST_PHASE],
  },
  check: (view, run) =>
    checkJobPhase(view, 'checkpoint', 'checkpoint', {
      title: 'saving checkpoints holds up training: save less often, or in the background',
      fix: inWordsOf(run.captured.get(view.rank), rule.info.fix, {
        transformers: {
          text: 'Save less often: every half hour loses at most half an hour of work. Without the optimizer a checkpoint is a third of the size, but training cannot be resumed from it.',
          code: 'TrainingArguments(..., save_steps=1000)\n# for evaluation only: save_only_model=True',
        },
        lightning: {
          text: 'Save less often: every half hour loses at most half an hour of work. Without the optimizer a checkpoint is smaller, but training cannot be resumed from it.',
          code: 'ModelCheckpoint(every_n_train_steps=1000)\n# for evaluation only: save_weights_only=True',
        },
      }),
    }),
};
