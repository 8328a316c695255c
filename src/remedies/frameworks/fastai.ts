import { call } from '../kit/layout.js';
import type { Framework } from './framework.js';

const form = call('block.dataloaders');
const LOADER = ['num_workers', 'persistent_workers', 'pin_memory'];

/** Checked against fastai 2.8. Its loader has no prefetch_factor. */
export const fastai: Framework = {
  id: 'fastai',
  name: 'fastai',
  modules: ['fastai.'],
  form,
  places: {
    DataLoader: {
      form,
      names: (name) => (LOADER.includes(name) ? name : name === 'batch_size' ? 'bs' : null),
    },
  },
  spell: {
    'bf16-autocast': ({ to }) => ({ lines: [`learn = learn.to_${to}()`] }),
    'channels-last': ({ dimensions }) =>
      dimensions === 2
        ? { lines: ['learn = learn.to_channelslast()  # adds fp16 autocast unless use_amp=False'] }
        : { lines: ['learn.model = learn.model.to(memory_format=torch.channels_last_3d)'] },
    compile: { lines: ['learn.model = torch.compile(learn.model)'] },
  },
};
