import type { ProcessState, StackFrame } from '../../model/stack-profile.js';

/** What a thread does, as its stack shows. */
export type Doing =
  /** Waits for other ranks, in a collective or to begin. */
  | 'collective'
  /** Waits for a DataLoader worker. */
  | 'input-wait'
  /** Makes a batch itself. */
  | 'input-work'
  /** Waits for the GPU. */
  | 'gpu'
  /** Waits for a lock, a queue, another thread or process. */
  | 'lock'
  /** Waits for a socket or file. */
  | 'receive'
  /** Its process is stopped by a signal, did not answer, or has ended. */
  | Exclude<ProcessState, 'runs'>
  /** None of these. */
  | 'other';

export interface ThreadState {
  readonly doing: Doing;
  /** The library function that tells it, `all_reduce`; for `other` the job's own function. */
  readonly call: string;
  /** The innermost line of the job, `train.py:46 in reduce_gradients`. Null: none is on the stack. */
  readonly at: string | null;
}

/** By function and file. The first pattern that any frame matches decides: the outer cause before the inner wait. */
const SIGNS: readonly (readonly [Doing, RegExp])[] = [
  [
    'input-wait',
    /^_(?:Stateful)?MultiProcessingDataLoaderIter\.(?:_try_get_data|_get_data)\b|^(?:_try_get_data|_get_data) torch[\\/]utils[\\/]data/,
  ],
  [
    'input-work',
    /^(?:\w+DatasetFetcher\.)?fetch .*torch[\\/]utils[\\/]data[\\/]_utils[\\/]fetch\.py$|^_(?:Stateful)?SingleProcessDataLoaderIter\._next_data\b/,
  ],
  [
    'collective',
    /^(?:all_reduce|all_gather\w*|reduce_scatter\w*|broadcast\w*|barrier|monitored_barrier|all_to_all\w*|reduce|gather\w*|scatter\w*|send|recv|batch_isend_irecv|init_process_group|_create_c10d_store|new_group|_store_based_barrier) .*torch[\\/]distributed[\\/]/,
  ],
  ['gpu', /^(?:(?:Stream|Event)\.)?synchronize .*torch[\\/](?:cuda|xpu|mps)[\\/]/],
  [
    'receive',
    /^(?:\w+\.)?(?:recv\w*|_recv\w*|read\w*|accept|connect|select) .*(?:socket|ssl|selectors|http[\\/]client|multiprocessing[\\/]connection)\.py$/,
  ],
  [
    'lock',
    /^(?:\w+\.)?(?:wait|acquire|join|_wait_for_tstate_lock|get|put|poll|result) .*(?:threading|queue|queues|subprocess|popen_\w+|process|synchronize|_base|connection)\.py$/,
  ],
];

/** Where a process was when it was stopped says nothing about it: it does not even wait. */
export function stateIn(process: ProcessState, frames: readonly StackFrame[]): ThreadState {
  const seen = stateOf(frames);
  return process === 'runs' ? seen : { ...seen, doing: process };
}

export function stateOf(frames: readonly StackFrame[]): ThreadState {
  const own = frames.find((f) => f.isOwn) ?? null;
  const at = own && `${own.file}:${own.line} in ${own.function}`;
  const texts = frames.map((f) => `${f.function} ${f.file}`);
  for (const [doing, sign] of SIGNS) {
    const found = texts.findIndex((t) => sign.test(t));
    if (found >= 0) return { doing, call: lastName(frames[found]!.function), at };
  }
  return { doing: 'other', call: lastName((own ?? frames[0])?.function ?? ''), at };
}

/** `_MultiProcessingDataLoaderIter._try_get_data` is `_try_get_data`. */
const lastName = (name: string) => name.slice(name.lastIndexOf('.') + 1);
