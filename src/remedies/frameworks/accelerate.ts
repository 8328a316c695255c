import { call, PLAIN } from '../kit/layout.js';
import type { Framework } from './framework.js';

/** Checked against Accelerate 1.15. The DataLoader is the user's own. */
export const accelerate: Framework = {
  id: 'accelerate',
  name: 'Accelerate',
  modules: ['accelerate.data_loader'],
  form: call('Accelerator'),
  places: {
    DataLoader: PLAIN.DataLoader,
    DDP: { form: call('DistributedDataParallelKwargs'), where: 'Accelerator(kwargs_handlers=[...])' },
    FSDP: {
      form: call('FullyShardedDataParallelPlugin'),
      where: 'Accelerator(fsdp_plugin=...)',
    },
  },
  spell: {
    'bf16-autocast': ({ to }) => ({ settings: [`mixed_precision="${to}"`] }),
    compile: { settings: ['dynamo_backend="inductor"'] },
    'compile-graphs': {
      settings: ['dynamo_plugin=TorchDynamoPlugin("inductor", mode="reduce-overhead")'],
    },
    'pinned-copies': ({ pinned }) => ({
      set: { DataLoader: { pin_memory: !pinned } },
      settings: ['dataloader_config=DataLoaderConfiguration(non_blocking=True)'],
    }),
  },
};
