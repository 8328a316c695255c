import { LESS_OFTEN } from '../fixes/job-phases.js';
import { call, PLAIN } from '../kit/layout.js';
import type { Framework } from './framework.js';

/** Checked against Lightning 2.6. DDPStrategy and FSDPStrategy hand their arguments on to DDP and FSDP. */
export const lightning: Framework = {
  id: 'lightning',
  name: 'Lightning',
  modules: ['lightning.', 'pytorch_lightning'],
  form: call('Trainer'),
  places: {
    DataLoader: { form: PLAIN.DataLoader.form, where: 'in train_dataloader()' },
    DDP: { form: call('DDPStrategy'), where: 'Trainer(strategy=...)' },
    FSDP: { form: call('FSDPStrategy'), where: 'Trainer(strategy=...)' },
  },
  spell: {
    'cudnn-benchmark': { settings: ['benchmark=True'] },
    'anomaly-off': { settings: ['detect_anomaly=False'] },
    'bf16-autocast': ({ to }) => ({ settings: [`precision="${to === 'bf16' ? 'bf16' : '16'}-mixed"`] }),
    'pinned-copies': ({ pinned }) =>
      pinned
        ? { lines: ['batch = batch.to(device, non_blocking=True)  # in transfer_batch_to_device()'] }
        : { set: { DataLoader: { pin_memory: true } } },
    'one-collective': {
      text: 'Log per epoch, or without sync_dist: each synchronized value is a collective.',
      lines: ['self.log(name, value, on_step=False, on_epoch=True)'],
    },
    'fewer-checkpoints': {
      text: `${LESS_OFTEN} Without the optimizer a checkpoint is smaller, but training cannot be resumed from it.`,
      lines: ['ModelCheckpoint(every_n_train_steps=1000)', '# for evaluation only: save_weights_only=True'],
    },
    'fewer-evaluations': { settings: ['val_check_interval=1000', 'limit_val_batches=50'] },
    'fewer-logs': { settings: ['log_every_n_steps=50'] },
  },
};
