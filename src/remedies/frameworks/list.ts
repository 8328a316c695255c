import { call, PLAIN } from '../kit/layout.js';
import { accelerate } from './accelerate.js';
import { deepspeed } from './deepspeed.js';
import { fastai } from './fastai.js';
import type { Framework } from './framework.js';
import { keras } from './keras.js';
import { lightning } from './lightning.js';
import { skorch, ultralytics } from './small-trainers.js';
import { torchtitan } from './torchtitan.js';
import { transformers } from './transformers.js';

const plain: Framework = {
  id: 'plain',
  name: 'PyTorch',
  modules: [],
  form: call('DataLoader'),
  places: PLAIN,
  spell: {},
};

/** Every framework, one column each. Add yours here; one that uses another comes before it. */
export const FRAMEWORKS: readonly Framework[] = [
  plain,
  transformers,
  lightning,
  skorch,
  ultralytics,
  fastai,
  keras,
  torchtitan,
  deepspeed,
  accelerate,
];

export const PLAIN_FRAMEWORK = plain;

/** The column of a framework. One that is unknown, or not in the catalog, is spelled as plain PyTorch. */
export const frameworkNamed = (id: string | null | undefined): Framework =>
  FRAMEWORKS.find((f) => f.id === id) ?? plain;
