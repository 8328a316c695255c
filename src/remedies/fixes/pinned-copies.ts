import { remedy } from '../kit/remedy.js';

export interface Copies {
  /** The memory is pinned already: only the copy waits. */
  readonly pinned?: boolean;
  /** The copy does not wait, or the framework makes it: only the memory is not pinned. */
  readonly copied?: boolean;
}

export const pinnedCopies = remedy({
  id: 'pinned-copies',
  title: 'copies to the GPU from pinned memory, without waiting',
  cost: 'knob',
  risk: 'memory',
  check:
    'Do not change a pinned batch on the host before the step that uses it has been launched and has run.',
  text: ({ pinned, copied }: Copies) =>
    copied
      ? 'Pin the batches: a copy overlaps with the step only from pinned memory.'
      : pinned
        ? 'The memory is pinned: copy without waiting.'
        : 'Pin the batches and copy them without waiting: both are needed.',
  plain: ({ pinned, copied }) => ({
    set: { DataLoader: { pin_memory: !pinned } },
    lines: copied ? [] : ['x = x.to(device, non_blocking=True)  # every tensor of the batch'],
  }),
  usual: {},
  trial: { answers: ['pageable-copy', 'blocking-copy'], alsoFor: ['exposed-copy'] },
});
