import { formatCount } from '../../base/units.js';
import { NONE, remedy, type Spelled } from '../kit/remedy.js';

export interface Threads {
  /** Threads for each rank. */
  readonly threads: number | 'N' | '<cores divided by ranks>';
  /** Why cores are short. `quota`: a container’s limit. `others`: other processes take them. */
  readonly because?: 'quota' | 'others' | 'threads';
  /** The script sets the number itself: the environment does not change it. */
  readonly inCode?: boolean;
  /** The job itself has no thread to spare. */
  readonly onlyMoreCores?: boolean;
}

export const ompThreads = remedy({
  id: 'omp-threads',
  title: 'as many operator threads as this rank has cores',
  cost: 'free',
  risk: 'none',
  check: 'Compare step times. Sums in another order change the last digits of results.',
  text: (args: Threads) => textOf(args),
  plain: (args) => codeOf(args),
  usual: { threads: '<cores divided by ranks>' },
  trial: {
    answers: [],
    alsoFor: ['cpu-contention'],
    risk: 'numerics',
    knob: { argument: 'OMP_NUM_THREADS', start: (now) => Math.max(1, now), most: 256, falls: true },
    args: (used) => ({ threads: used }),
  },
});

function textOf({ threads, because, inCode, onlyMoreCores }: Threads): string {
  if (typeof threads !== 'number')
    return 'Run as many threads as there are cores for each rank, or give the job more cores.';
  const each = formatCount(threads, 'thread');
  if (because === 'quota') return `Raise the quota. Until then, run no more than ${each} for each rank.`;
  const first = because === 'others' ? 'See what else runs there (top), and move it or the job. ' : '';
  if (!onlyMoreCores)
    return `${first}Run ${each} for each rank: an operator waits for the slowest of its threads, so fewer of them can be faster. Try half as many as well.${inCode ? ' The script sets the number itself, so the environment does not change it.' : ''}`;
  return `${first}Give the job more cores.`;
}

function codeOf({ threads, because, inCode, onlyMoreCores }: Threads): Spelled {
  const set = inCode ? `torch.set_num_threads(${threads})` : `export OMP_NUM_THREADS=${threads}`;
  if (because === 'quota')
    return { lines: ['docker run --cpus=<more> …      # Kubernetes: resources.limits.cpu', set] };
  if (!onlyMoreCores) return { lines: [set] };
  return {
    lines: [
      'top -H -p <training process>      # its threads',
      'top                               # all others',
    ],
  };
}

export const backgroundProcess = remedy({
  id: 'background-process',
  title: 'background work in a process of its own',
  cost: 'code',
  risk: 'none',
  check:
    'Results of the background work are the same. Pass numbers to it, not tensors that training changes.',
  text: 'Move the background work into a process, or let it sleep between rounds. Work inside NumPy or PyTorch calls lets go of the lock; loops in Python do not.',
  plain: {
    lines: [
      'ctx = multiprocessing.get_context("spawn")',
      'ctx.Process(target=work, args=(queue,), daemon=True).start()',
    ],
  },
  usual: NONE,
});

export interface Node {
  readonly node: number | 'N';
}

export const numaBinding = remedy({
  id: 'numa-binding',
  title: 'process bound to the cores next to its GPU',
  cost: 'free',
  risk: 'none',
  check: 'Results are the same.',
  text: 'Bind each rank to the node of its GPU: `nvidia-smi topo -m` shows which.',
  plain: ({ node }: Node) => ({
    lines: [`numactl --cpunodebind=${node} --membind=${node} python …  # in the shell`],
  }),
  usual: { node: 'N' },
  trial: { answers: [], alsoFor: ['cpu-contention'], args: (used) => ({ node: used }) },
});

export interface Crowd {
  readonly inWorkers: boolean;
  readonly each: number;
}

export const fewerThreads = remedy({
  id: 'fewer-threads',
  title: 'no more threads than cores',
  cost: 'free',
  risk: 'none',
  check: ompThreads.check,
  text: ({ inWorkers, each }: Crowd) =>
    inWorkers
      ? 'Each worker should use one thread: cv2.setNumThreads(0), OMP_NUM_THREADS=1. More workers would make it worse.'
      : `Give each process as many threads as it has CPUs: OMP_NUM_THREADS=${each}. More DataLoader workers would make it worse.`,
  plain: ({ inWorkers, each }) => ({ lines: [`export OMP_NUM_THREADS=${inWorkers ? 1 : each}`] }),
  usual: { inWorkers: false, each: 1 },
});

export const toDevice = remedy({
  id: 'to-device',
  title: 'the model and its batches on the GPU',
  cost: 'code',
  risk: 'numerics',
  check: 'Compare the first losses with those of the CPU: they agree to a few digits.',
  text: 'Move the model and every batch to the GPU. If that was meant to happen, check torch.cuda.is_available(): a build of PyTorch for the CPU, or a hidden device (CUDA_VISIBLE_DEVICES), falls back to the CPU without an error.',
  plain: { lines: ['model = model.to("cuda")', 'x, y = x.to("cuda"), y.to("cuda")'] },
  usual: NONE,
});
