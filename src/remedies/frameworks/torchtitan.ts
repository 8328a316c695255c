import { options } from '../kit/layout.js';
import type { Framework } from './framework.js';

const form = options('./run_train.sh');
const LOADER = ['num_workers', 'persistent_workers', 'prefetch_factor', 'pin_memory'];

/** Checked against torchtitan 0.3. Its configuration files have the same names. */
export const torchtitan: Framework = {
  id: 'torchtitan',
  name: 'torchtitan',
  modules: ['torchtitan.'],
  form,
  places: {
    DataLoader: { form, names: (name) => (LOADER.includes(name) ? `dataloader.${name}` : null) },
  },
  spell: {
    'bf16-autocast': { settings: ['--training.mixed_precision_param bfloat16'] },
    compile: { settings: ['--compile.enable'] },
    'fused-optimizer': { settings: ['--optimizer.implementation fused'] },
    'pinned-copies': { settings: ['--dataloader.pin_memory'] },
    'larger-micro-batch': ({ size = 'N' }) => ({ settings: [`--training.local_batch_size ${size}`] }),
    'gc-frozen': { settings: ['--training.gc_freq 1000'] },
    'fewer-checkpoints': {
      settings: ['--checkpoint.interval 1000', '--checkpoint.async_mode async'],
    },
    'fewer-evaluations': { settings: ['--validator.freq 1000', '--validator.steps 50'] },
    'fewer-logs': { settings: ['--metrics.log_freq 50'] },
  },
};
