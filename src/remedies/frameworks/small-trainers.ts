import { call } from '../kit/layout.js';
import type { Framework } from './framework.js';

/** Checked against skorch 1.4. */
export const skorch: Framework = {
  id: 'skorch',
  name: 'skorch',
  modules: ['skorch.'],
  form: call('NeuralNet'),
  places: { DataLoader: { form: call('NeuralNet'), names: (name) => `iterator_train__${name}` } },
  spell: { compile: { settings: ['compile=True'] } },
};

/** Checked against ultralytics 8.4. */
export const ultralytics: Framework = {
  id: 'ultralytics',
  name: 'ultralytics',
  modules: ['ultralytics.'],
  form: call('model.train'),
  places: {
    DataLoader: { form: call('model.train'), names: (name) => (name === 'num_workers' ? 'workers' : null) },
  },
  spell: {
    compile: { settings: ['compile=True'] },
    'bf16-autocast': ({ to }) => ({ settings: [`amp="${to}"`] }),
  },
};
