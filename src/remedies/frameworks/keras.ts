import { call } from '../kit/layout.js';
import type { Framework } from './framework.js';

/** Checked against Keras 3.15 on torch. It wraps a PyDataset in a DataLoader of its own, whose workers are threads by default. */
export const keras: Framework = {
  id: 'keras',
  name: 'Keras',
  modules: ['keras.'],
  form: call('model.compile'),
  places: {
    DataLoader: {
      form: call('super().__init__'),
      names: (name) => (name === 'num_workers' ? 'use_multiprocessing=True, workers' : null),
      where: 'in __init__ of the PyDataset',
    },
  },
  spell: {
    compile: { settings: ['jit_compile=True'] },
    'bf16-autocast': ({ to }) => ({
      lines: [`keras.mixed_precision.set_global_policy("mixed_${to === 'bf16' ? 'bfloat16' : 'float16'}")`],
    }),
    'fewer-checkpoints': { lines: ['keras.callbacks.ModelCheckpoint(path, save_freq=1000)'] },
    'fewer-evaluations': { lines: ['model.fit(..., validation_freq=5, validation_steps=50)'] },
  },
};
