import { call, PLAIN } from '../kit/layout.js';
import type { Framework } from './framework.js';

export const plain: Framework = {
  id: 'plain',
  name: 'PyTorch',
  modules: [],
  form: call('DataLoader'),
  places: PLAIN,
  spell: {},
};
