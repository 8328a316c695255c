import { NONE, remedy } from '../kit/remedy.js';

/** Fixes of pauses of the host: garbage collection, the allocator, memory that is short. */

export interface Garbage {
  /** Only what a trial applies. */
  readonly tried?: boolean;
}

export const gcFrozen = remedy({
  id: 'gc-frozen',
  title: 'objects of the set-up out of garbage collection, no gc.collect() in the steps',
  cost: 'code',
  risk: 'memory',
  check: 'Watch the host’s memory: reference cycles live until the next collection.',
  text: 'Freeze the objects that exist before training, and collect at steps of your choice, on all ranks at once. Remove gc.collect() and torch.cuda.empty_cache() from the loop.',
  plain: ({ tried }: Garbage) => ({
    lines: tried
      ? [
          'gc.collect(); gc.freeze()  # once, after the first steps',
          '# remove gc.collect() from the training loop, if it is there',
        ]
      : [
          'gc.collect(); gc.freeze()          # once, before the first step',
          'gc.disable()',
          'if step % 1000 == 0: gc.collect()  # in the loop',
        ],
  }),
  usual: {},
  trial: { answers: ['host-pause', 'gc-time'], args: () => ({ tried: true }) },
});

export const findPause = remedy({
  id: 'find-pause',
  title: 'no pauses of the training thread',
  cost: 'code',
  risk: 'memory',
  check: 'Watch memory over a few thousand steps after you turn the collector off.',
  text: 'Find out what runs there: garbage collection (gc.freeze(), collect at set steps), logging, file writes, data made by hand. A stack dump during a pause shows it.',
  plain: {
    lines: [
      'py-spy dump --pid <training process>      # during a pause',
      'gc.disable()                # gc.collect() every 1000 steps',
    ],
  },
  usual: NONE,
});

export interface Cache {
  /** Only what a trial applies. */
  readonly tried?: boolean;
}

const SEGMENTS = 'expandable_segments:True';

export const keepCache = remedy({
  id: 'keep-cache',
  title: 'no torch.cuda.empty_cache() in the steps',
  cost: 'code',
  risk: 'memory',
  check: 'Results are the same. Watch memory over a few thousand steps.',
  text: 'Remove torch.cuda.empty_cache() from the loop. If shapes change, let segments grow instead of being replaced.',
  plain: ({ tried }: Cache) => ({
    lines: tried
      ? ['# remove torch.cuda.empty_cache() from the training loop']
      : ['# no torch.cuda.empty_cache() in the step', `PYTORCH_ALLOC_CONF=${SEGMENTS} python train.py`],
  }),
  usual: {},
  trial: { answers: ['allocator-churn'], args: () => ({ tried: true }) },
});

export const expandableSegments = remedy({
  id: 'expandable-segments',
  title: 'allocator segments that grow',
  cost: 'free',
  risk: 'memory',
  check: 'Results are the same. Watch memory over a few thousand steps.',
  text: 'Let segments of the allocator grow instead of being replaced.',
  plain: { lines: [`export PYTORCH_CUDA_ALLOC_CONF=${SEGMENTS}  # in the shell`] },
  usual: NONE,
  trial: { answers: [], alsoFor: ['allocator-churn'] },
});

export const lessHostMemory = remedy({
  id: 'less-host-memory',
  title: 'less host memory',
  cost: 'knob',
  risk: 'none',
  check: 'Nothing in the training changes.',
  text: 'Use less host memory: fewer DataLoader workers, a smaller prefetch_factor, no copy of the dataset in each worker. Or give the job more memory.',
  plain: {
    set: { DataLoader: { num_workers: '<fewer>', prefetch_factor: 2 } },
    lines: ['free -h; cat /proc/pressure/memory      # while it runs'],
  },
  usual: NONE,
});

export const memorySnapshot = remedy({
  id: 'memory-snapshot',
  title: 'a memory snapshot over a few steps',
  cost: 'free',
  risk: 'none',
  check: 'Recording slows the loop: turn it off afterward.',
  text: 'Record a snapshot over a few steps and open it at pytorch.org/memory_viz.',
  plain: {
    lines: [
      'torch.cuda.memory._record_memory_history(max_entries=100_000)',
      '# ... a few steps ...',
      'torch.cuda.memory._dump_snapshot("memory.pickle")',
    ],
  },
  usual: NONE,
});
