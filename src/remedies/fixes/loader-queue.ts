import { NONE, remedy } from '../kit/remedy.js';

export const loaderPersistent = remedy({
  id: 'loader-persistent',
  title: 'DataLoader workers live through epochs',
  cost: 'knob',
  risk: 'memory',
  check:
    'Datasets that change state in __init__ or per epoch now keep it: reseed in set_epoch, not in the constructor.',
  text: 'Keep the workers between epochs.',
  plain: { set: { DataLoader: { persistent_workers: true } } },
  usual: NONE,
  trial: { answers: ['workers-restarted'] },
});

export interface Queue {
  readonly factor: number | 'N';
}

export const loaderPrefetch = remedy({
  id: 'loader-prefetch',
  title: 'DataLoader workers prefetch more batches',
  cost: 'knob',
  risk: 'memory',
  check: 'Only memory changes: the host holds prefetch_factor × num_workers batches.',
  text: 'Let each worker prepare more batches ahead.',
  plain: ({ factor }: Queue) => ({ set: { DataLoader: { prefetch_factor: factor } } }),
  usual: { factor: 4 },
  trial: { answers: ['bursty-input'], args: (used) => ({ factor: used }) },
});
