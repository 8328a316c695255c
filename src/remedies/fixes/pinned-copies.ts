import { remedy } from '../kit/remedy.js';

export interface Copies {
  /** The memory is pinned already: only the copy waits. */
  readonly pinned?: boolean;
}

export const pinnedCopies = remedy({
  id: 'pinned-copies',
  title: 'copies to the GPU from pinned memory, without waiting',
  cost: 'knob',
  risk: 'memory',
  check:
    'Do not change a pinned batch on the host before the step that uses it has been launched and has run.',
  text: ({ pinned }: Copies) =>
    pinned
      ? 'The memory is pinned: copy without waiting.'
      : 'Pin the batches and copy them without waiting: both are needed.',
  plain: ({ pinned }) => ({
    set: { DataLoader: { pin_memory: !pinned } },
    lines: ['x = x.to(device, non_blocking=True)  # every tensor of the batch'],
  }),
  usual: {},
  trial: { answers: ['pageable-copy', 'blocking-copy'], alsoFor: ['exposed-copy'] },
});
