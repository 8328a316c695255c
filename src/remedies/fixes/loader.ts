import { formatCount } from '../../base/units.js';
import { remedy, type Spelled } from '../kit/remedy.js';

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
  inference: ({ pinned }) => ({
    text: pinned
      ? 'The memory is pinned: copy without waiting.'
      : 'Pin the inputs and copy them without waiting: both are needed. What is copied in every call, such as weights, can stay on the GPU.',
    lines: [
      pinned ? 'x = x.to(device, non_blocking=True)' : 'x = x.pin_memory().to(device, non_blocking=True)',
    ],
  }),
  usual: {},
  trial: { answers: ['pageable-copy', 'blocking-copy'], alsoFor: ['exposed-copy'] },
});

export interface Kept {
  /** Each start comes with a DataLoader of its own. `perBatch`: what starting workers costs for each batch, `21.3 ms`. */
  readonly anew?: { readonly perBatch: string };
}

export const loaderPersistent = remedy({
  id: 'loader-persistent',
  title: 'DataLoader workers live through epochs',
  cost: ({ anew }: Kept) => (anew ? 'code' : 'knob'),
  risk: 'memory',
  check:
    'Datasets that change state in __init__ or per epoch now keep it: reseed in set_epoch, not in the constructor.',
  text: ({ anew }) =>
    anew
      ? `Make each DataLoader once, outside the loop, and keep its workers. If a batch takes less than ${anew.perBatch} to make, num_workers=0 is faster than starting workers for a few batches.`
      : 'Keep the workers between epochs.',
  plain: ({ anew }) => ({
    set: { DataLoader: { persistent_workers: true } },
    ...(anew ? { before: ['# once, before the loop'] } : {}),
  }),
  usual: {},
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
  trial: {
    answers: ['bursty-input'],
    knob: { argument: 'prefetch_factor', start: (now) => Math.max(4, 2 * now), most: 32 },
    args: (used) => ({ factor: used }),
  },
});

/** What is known about an IterableDataset: it does not split its data by worker, or it may not. */
export type Unsplit = 'surely' | 'maybe';

export interface Workers {
  readonly workers: number | 'N';
  /** Cores of this rank. Null: unknown. */
  readonly cores: number | null;
  /** How many workers there are now. More of them need the same arguments, but another reason. */
  readonly now?: number;
  readonly persistent?: boolean;
  readonly pin?: boolean;
  /** They mostly wait, so they need no core of their own. */
  readonly sleep?: boolean;
  /** Every core is in use. */
  readonly busy?: boolean;
  /** Several workers would yield the same samples. */
  readonly unsplit?: Unsplit | null;
  /** What kind of dataset it is was recorded. */
  readonly datasetKnown?: boolean;
  /** The loop makes its batches itself, without a DataLoader. */
  readonly inLoop?: boolean;
  /** What to do if memory does not allow more workers. */
  readonly instead?: string;
  /** The step at best, with no wait left: `12.3 ms`. */
  readonly atBest?: string;
}

const SPLIT =
  'An IterableDataset must split its data by worker (get_worker_info), or every worker yields all of it.';

export const loaderWorkers = remedy({
  id: 'loader-workers',
  title: 'more DataLoader workers, kept alive',
  cost: ({ unsplit, inLoop }: Workers) => (unsplit || inLoop ? 'code' : 'knob'),
  risk: ({ unsplit, inLoop }: Workers) => (unsplit || inLoop ? 'data' : 'memory'),
  check:
    'Check that the same samples still arrive. With augmentation, seed each worker (worker_init_fn). An IterableDataset must split its data by worker id, or every worker yields everything. Keep the number of workers and the batch size the same across runs that you compare.',
  text: (args) => `${splitFirst(args.unsplit)}${textOf(args)}`,
  plain: ({ workers, persistent = true, pin = false, unsplit }): Spelled => ({
    before: unsplit ? SPLIT_LINES : [],
    set: { DataLoader: { num_workers: workers, persistent_workers: persistent, pin_memory: pin } },
  }),
  usual: { workers: 8, cores: null, pin: true },
  trial: {
    answers: ['num-workers-zero', 'slow-workers'],
    alsoFor: ['input-wait'],
    // As many as rules advise at most: each holds a copy of what the dataset holds.
    knob: { argument: 'num_workers', start: (now) => Math.max(2, 2 * now), most: 32 },
    args: (used) => ({ workers: used, cores: null }),
  },
});

function textOf({
  workers,
  cores,
  now,
  sleep,
  busy,
  datasetKnown,
  inLoop,
  instead,
  atBest,
}: Workers): string {
  if (inLoop)
    return `Make batches in worker processes: put that code into a Dataset or an IterableDataset and read it through a DataLoader. ${SPLIT} With no wait left, a step takes ${atBest} at best.`;
  if (now !== undefined)
    return `Raise num_workers from ${now} to ${workers}${sleep ? `. ${SLEEP}` : ` (there are ${formatCount(cores ?? 1, 'core')}).`}${instead ? ` If memory does not allow it, ${instead}.` : ''}`;
  const first = busy
    ? 'All cores are busy: free some first (other jobs, OMP_NUM_THREADS), or workers gain less than this. '
    : '';
  return `${first}Load in worker processes. ${sleep ? SLEEP : howMany(workers, cores)} Persistent workers survive between epochs.${datasetKnown ? '' : ` ${SPLIT}`}`;
}

const SLEEP =
  'They wait for most of the time and need no core of their own; torch warns about more workers than cores all the same.';

function howMany(workers: number | 'N', cores: number | null): string {
  if (cores === null || workers === 'N')
    return 'Start with one worker per core, minus one, if memory allows.';
  const count = formatCount(workers, 'worker is', 'workers are');
  return `${count} ${workers < cores - 1 ? 'enough for this step' : `what ${formatCount(cores, 'core')} can feed`}.`;
}

function splitFirst(unsplit: Unsplit | null | undefined): string {
  if (!unsplit) return '';
  const seen =
    unsplit === 'surely' ? 'nothing in it calls get_worker_info()' : 'it may not split its data by worker';
  return `First split the data by worker: this is an IterableDataset and ${seen}, so each of several workers would yield all of it, and the model would see every sample more than once. One worker is safe as it is. `;
}

const SPLIT_LINES = [
  'info = torch.utils.data.get_worker_info()        # in __iter__',
  'samples = itertools.islice(samples, info.id, None, info.num_workers)',
];

export interface Small {
  /** What the training thread needs to take a batch from a worker: `0.35 ms`. */
  readonly taking: string;
  /** The loader has workers now. What making a batch takes them: `0.10 ms`. */
  readonly made?: string;
}

/** Batches that take less to make than to hand over. */
export const batchAtOnce = remedy({
  id: 'batch-at-once',
  title: 'batches made in the training process, each in one piece',
  cost: ({ made }: Small) => (made ? 'knob' : 'code'),
  risk: 'none',
  check: 'Compare a few batches before and after: same shapes and types, each sample once per epoch.',
  text: ({ taking, made }) =>
    made
      ? `Load in the training process: to take a batch from a worker costs the training thread ${taking}, and a worker computes ${made} to make one.`
      : `Workers would not help: to take a batch from one costs the training thread about ${taking}. Make each batch in one piece instead of sample by sample: index tensors with all of its rows, or give the dataset __getitems__.`,
  plain: ({ made }): Spelled =>
    made
      ? { set: { DataLoader: { num_workers: 0 } } }
      : {
          lines: [
            'for rows in torch.randperm(len(X)).split(batch_size):',
            '    x, y = X[rows], Y[rows]   # not sample by sample',
          ],
        },
  usual: { taking: '0.35 ms' },
});

export interface Waiting {
  readonly hasGpu: boolean;
  readonly atBest: string | null;
}

/** Steps wait for input, and nothing shows whether there are workers. */
export const checkWorkers = remedy({
  id: 'check-workers',
  title: 'look at the DataLoader: has it workers, and are they fast enough',
  cost: 'knob',
  risk: 'memory',
  check: loaderWorkers.check,
  text: ({ atBest }: Waiting) =>
    `If num_workers is 0, raise it. If there are workers, see whether they are CPU- or IO-bound (whyslow rules slow-workers); a trace shows which. With no wait left, a step takes ${atBest} at best.`,
  plain: ({ hasGpu }) => ({
    set: {
      DataLoader: { num_workers: hasGpu ? 8 : 2, persistent_workers: true, pin_memory: hasGpu },
    },
  }),
  usual: { hasGpu: true, atBest: null },
});

export interface Fed {
  /** Who makes them: a thread, a process, a pool or a coroutine. */
  readonly kind: 'queue' | 'message' | 'future' | 'await';
  /** The thread that makes batches computes, so that more threads would share one interpreter lock. */
  readonly computes: boolean;
  /** Producers that keep up with the steps. */
  readonly producers: number | 'N';
  readonly atBest: string | null;
}

/** The loop waits for batches of its own threads, processes or coroutines. */
export const fedInput = remedy({
  id: 'fed-input',
  title: 'several producers of batches at once',
  cost: 'code',
  risk: 'data',
  check: 'The order of batches changes: give each producer its own part of the data and its own seed.',
  text: ({ kind, computes, atBest }: Fed) => {
    const best = atBest === null ? '' : ` With no wait left, a step takes ${atBest} at best.`;
    return `${computes && kind !== 'message' ? IN_PROCESSES : PRODUCERS[kind]}${best}`;
  },
  plain: ({ kind, computes, producers }) =>
    computes && kind !== 'message'
      ? { set: { DataLoader: { num_workers: producers, persistent_workers: true } } }
      : { lines: PRODUCER_LINES[kind](producers) },
  usual: { kind: 'queue', computes: false, producers: 'N', atBest: null },
});

const IN_PROCESSES =
  'Make batches in worker processes (a DataLoader): threads that compute in Python share one interpreter lock with the training thread, so more of them would slow it down.';
const PRODUCERS: Readonly<Record<Fed['kind'], string>> = {
  await:
    'Await several batches at a time: start that many producers, each for its own part of the data. One coroutine waits for one request after the other, and a longer queue does not make it faster.',
  queue:
    'Start several producer threads, each for its own part of the data: one of them waits for one batch after the other. A longer queue does not make it faster.',
  message: 'Start several producer processes, each for its own part of the data.',
  future: 'Submit several batches ahead and wait for the oldest, with as many workers in the pool.',
};
const PRODUCER_LINES: Readonly<Record<Fed['kind'], (n: Fed['producers']) => readonly string[]>> = {
  await: (n) => [
    `makers = [produce(q, part, ${n}) for part in range(${n})]`,
    'await asyncio.gather(train(q), *makers)',
  ],
  queue: (n) => [`for part in range(${n}):`, `    Thread(target=produce, args=(q, part, ${n})).start()`],
  message: (n) => [`for part in range(${n}):`, `    Process(target=produce, args=(q, part, ${n})).start()`],
  future: (n) => [
    `pool = ThreadPoolExecutor(${n})`,
    `ahead = deque(pool.submit(load, i) for i in range(${n}))`,
    'batch = ahead.popleft().result(); ahead.append(pool.submit(load, next_index))',
  ],
};
