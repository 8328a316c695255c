import { formatCount } from '../../base/units.js';
import { remedy, type Spelled } from '../kit/remedy.js';

/** What holds the workers up. `timer`: they sleep on a timer. `handover`: the training thread unpacks their batches. */
export type WorkerLimit = 'unknown' | 'cpu' | 'io' | 'timer' | 'handover';

export interface Slow {
  readonly limit: WorkerLimit;
  readonly hasGpu: boolean;
  readonly now?: number;
  readonly cores?: number;
  /** So many times the workers may feed the steps, if cores and memory allow it. */
  readonly times?: number;
  /** The cores are shared out among ranks. */
  readonly forEachRank?: boolean;
}

/** A clause without a full stop, so that other advice can end with it. */
export function fasterWorkersInShort({ limit, hasGpu }: Pick<Slow, 'limit' | 'hasGpu'>): string {
  if (limit === 'timer')
    return 'find the time.sleep in the dataset, its transforms or its store’s client (a retry, a rate limit): the workers do not read meanwhile';
  if (limit === 'io')
    return 'stage the data on local NVMe and pack small files into large shards: the workers wait for reads';
  return hasGpu
    ? 'move decoding and augmentation to the GPU, or do them once beforehand'
    : 'decode and transform once beforehand';
}

const SHARDS = '# webdataset or parquet shards on local NVMe';
const LOOK = 'whyslow triage --stacks      # what the workers of the running job do';

export const fasterWorkers = remedy({
  id: 'faster-workers',
  title: 'less work for each DataLoader worker',
  cost: 'code',
  risk: 'data',
  check: 'Compare a few hundred batches before and after: same samples, same distribution of augmentation.',
  text: (args: Slow) => textOf(args),
  plain: (args) => codeOf(args),
  usual: { limit: 'unknown', hasGpu: true },
});

function textOf({ limit, hasGpu, now, cores, times, forEachRank }: Slow): string {
  if (limit === 'handover')
    return `The training thread spends the wait unpacking batches, and more workers do not change that. Hand over fewer and smaller tensors: one per field and batch.${hasGpu ? ' Convert to float on the GPU. pin_memory=True unpacks on a thread of its own.' : ''}`;
  if (limit === 'unknown')
    return `${times ? `While steps wait, all workers are busy: more of them help, if there are cores for them or they mostly wait. Try ${times} times as many first (whyslow try --only loader-workers searches). ` : ''}Look at the workers while the job runs (whyslow triage). At 100% CPU: move decoding and augmentation to the GPU, or do them once beforehand. Sleeping in read(): stage the data on local NVMe, and pack small files into large shards.`;
  const instead = capitalized(fasterWorkersInShort({ limit, hasGpu }));
  const each = forEachRank ? ' for each rank' : '';
  return `${formatCount(cores ?? 1, 'core')}${each} and ${formatCount(now ?? 0, 'worker')}: more workers would not help. ${instead}.`;
}

function codeOf({ limit, hasGpu, times, now }: Slow): Spelled {
  if (limit === 'handover')
    return hasGpu
      ? {
          set: { DataLoader: { pin_memory: true } },
          lines: ['x = x.to(device, non_blocking=True).float()   # uint8 until here'],
        }
      : { set: { DataLoader: { collate_fn: 'stack_fields' } }, lines: ['# one tensor for each field'] };
  if (limit === 'unknown')
    return {
      ...(times
        ? { set: { DataLoader: { num_workers: now ? times * now : `${times} * num_workers` } } }
        : {}),
      lines: [
        LOOK,
        '# IO:  webdataset/parquet shards on local NVMe',
        '# CPU: kornia / torchvision.transforms.v2 on the GPU',
      ],
    };
  const first = {
    timer: 'py-spy dump --pid <worker>      # where a worker sleeps',
    io: SHARDS,
    cpu: hasGpu
      ? '# kornia / torchvision.transforms.v2 on the GPU, or decoded shards'
      : '# decoded shards (webdataset, parquet, .npy)',
  }[limit];
  return { lines: [first] };
}

const capitalized = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

export interface Staged {
  /** More workers help as well: they wait in parallel. */
  readonly orWorkers: boolean;
}

export const stagedData = remedy({
  id: 'staged-data',
  title: 'data on a local disk, in shards',
  cost: 'code',
  risk: 'data',
  check: fasterWorkers.check,
  text: ({ orWorkers }: Staged) =>
    `Copy the data to a local NVMe disk, and pack small files into shards (WebDataset, tar).${orWorkers ? ' More workers hide latency: they wait in parallel.' : ''}`,
  plain: { lines: [SHARDS] },
  usual: { orWorkers: true },
});
