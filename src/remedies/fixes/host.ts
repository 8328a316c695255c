import { NONE, remedy } from '../kit/remedy.js';

/** Fixes of pauses of the host: garbage collection, the allocator, memory that is short. */

export interface Garbage {
  /** Only what a trial applies. */
  readonly tried?: boolean;
  /** The job asks for collections itself. */
  readonly asked?: boolean;
}

export const gcFrozen = remedy({
  id: 'gc-frozen',
  title: 'objects of the set-up out of garbage collection, no gc.collect() in the steps',
  cost: 'code',
  risk: 'memory',
  check: 'Watch the host’s memory: reference cycles live until the next collection.',
  text: ({ asked }: Garbage) =>
    asked
      ? 'Remove gc.collect() from the loop, or call it every thousand steps: each call looks at every object of the process. Objects that exist before training can be frozen.'
      : 'Freeze the objects that exist before training, and collect at steps of your choice, on all ranks at once.',
  plain: ({ tried, asked }) => ({
    lines: asked
      ? ['gc.collect(); gc.freeze()          # once, before the first step', '# no gc.collect() in the loop']
      : tried
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

export interface Pause {
  /** Full garbage collections were recorded in this job. */
  readonly collections?: boolean;
}

export const findPause = remedy({
  id: 'find-pause',
  title: 'no pauses of the training thread',
  cost: 'code',
  risk: ({ collections }: Pause) => (collections ? 'memory' : 'none'),
  check: 'Watch memory over a few thousand steps if you turn the garbage collector off.',
  text: ({ collections }) =>
    `Find out what runs there: ${collections ? 'garbage collection (gc.freeze(), collect at set steps), ' : ''}logging, file writes, data made by hand. A stack dump during a pause shows it.`,
  plain: ({ collections }) => ({
    lines: [
      'py-spy dump --pid <training process>      # during a pause',
      ...(collections ? ['gc.disable()                # gc.collect() every 1000 steps'] : []),
    ],
  }),
  usual: {},
});

export const poolOnce = remedy({
  id: 'pool-once',
  title: 'processes and pools started once, before the loop',
  cost: 'code',
  risk: 'none',
  check: 'Workers keep their state between steps: nothing in them may depend on being new.',
  text: 'Start the pool (or the process) once, before the loop, and give it work in each step. Starting processes takes tens of milliseconds each time.',
  plain: {
    lines: [
      'pool = Pool(n)                  # before the loop',
      'rows = pool.map(augment, items) # in each step',
    ],
  },
  usual: NONE,
});

export const ownCode = remedy({
  id: 'own-code',
  title: 'less work between the calls of the model',
  cost: 'code',
  risk: 'none',
  check: 'Results are the same.',
  text: 'Do it every N steps, outside the loop, or on whole tensors instead of element by element; work that training does not wait for belongs in another process.',
  plain: { lines: ['if step % 100 == 0:', '    ...   # what the line does'] },
  usual: NONE,
});

export const foreachAverage = remedy({
  id: 'foreach-average',
  title: 'averaged weights updated in place, all at once',
  cost: 'code',
  risk: 'none',
  check:
    'The averaged weights are the same to rounding. Buffers (batch norm) are not averaged unless you ask for it.',
  text: 'Update the average in place and for all parameters at once, instead of copying the weights. Every ten steps with decay ** 10 is usually as good. A snapshot for later needs a copy only when it is taken.',
  plain: {
    lines: [
      'from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn',
      'ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999))',
      'ema.update_parameters(model)      # in each step',
    ],
  },
  usual: NONE,
});

export const shorterLock = remedy({
  id: 'shorter-lock',
  title: 'nothing slow while a lock is held',
  cost: 'code',
  risk: 'data',
  check: 'What the lock protects must still be read and written as a whole.',
  text: 'Find the thread that holds the lock and let it do its slow work before it takes it. Hand values over in a queue (put_nowait) instead of sharing them.',
  plain: {
    lines: [
      'result = slow_work()          # without the lock',
      'with lock: shared = result    # only the exchange',
      'py-spy dump --pid <training process>   # who holds it',
    ],
  },
  usual: NONE,
});

export const noSleep = remedy({
  id: 'no-sleep',
  title: 'no sleep in the loop',
  cost: 'code',
  risk: 'none',
  check: 'Whatever the sleep waited for must be there: a file, a rate limit, another process.',
  text: 'Remove the sleep, or move what waits (a retry, a rate limit, polling) into a thread or process of its own.',
  plain: { lines: ['# no time.sleep() between steps; Event.wait() ends as soon as it is set'] },
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

/** Fixes of waits for the GPU, and of what was left on after debugging. */

export const lateReads = remedy({
  id: 'late-reads',
  title: 'values read every N steps, or a step late',
  cost: 'knob',
  risk: 'none',
  check:
    'Logged values must be the same ones, only later. Code that branches on a value (NaN checks, clipping by hand) must stay on the GPU: torch.where.',
  text: 'Move reads out of the step: log every N steps, keep values on the GPU, and read them one step late.',
  plain: {
    lines: [
      'losses.append(loss.detach())               # no .item() in the step',
      'if step % 100 == 0:',
      '    print(torch.stack(losses).mean().item())',
    ],
  },
  inference: {
    text: 'Keep values on the GPU until the end of the call, and read all of them at once. Where a value decides what runs next, compute both sides and select with torch.where.',
    lines: [
      'y = torch.where(condition, a, b)     # not if condition: it waits',
      'results = torch.cat(outputs).cpu()   # once, at the end',
    ],
  },
  usual: NONE,
});

export interface Fixed {
  readonly cost: 'knob' | 'code';
}

export const fixedSizes = remedy({
  id: 'fixed-sizes',
  title: 'results of a fixed size',
  cost: ({ cost }: Fixed) => cost,
  risk: 'none',
  check: 'Padded entries must not count in losses and means: compare the loss on one batch.',
  text: 'Give results a fixed size: pad to a capacity, multiply by the mask instead of selecting with it, and sort once instead of calling nonzero for each part.',
  plain: {
    lines: [
      'out = torch.where(mask[..., None], expert(x), 0)      # not x[mask]',
      'idx = scores.topk(capacity, dim=0).indices            # fixed size',
    ],
  },
  usual: { cost: 'code' },
});

export const anomalyOff = remedy({
  id: 'anomaly-off',
  title: 'anomaly detection off',
  cost: 'free',
  risk: 'none',
  check: 'Results are the same. Keep a cheap guard instead: torch.isfinite(loss) every few hundred steps.',
  text: 'Turn it off unless you are debugging.',
  plain: { lines: ['torch.autograd.set_detect_anomaly(False)'] },
  usual: NONE,
  trial: { answers: ['anomaly-detection'] },
});

export const asyncLaunches = remedy({
  id: 'async-launches',
  title: 'kernels launched without waiting',
  cost: 'free',
  risk: 'none',
  check: 'Results are the same. Errors of kernels are reported later than the call that caused them.',
  text: 'Remove CUDA_LAUNCH_BLOCKING once the error is found: every launch waits for its kernel.',
  plain: { lines: ['unset CUDA_LAUNCH_BLOCKING'] },
  usual: NONE,
});

export const profileOnce = remedy({
  id: 'profile-once',
  title: 'a profiler that records once, or not at all',
  cost: 'free',
  risk: 'none',
  check: 'Nothing in the training changes. Compare step times before and after.',
  text: 'Remove it from real runs, or let it record once.',
  plain: { lines: ['schedule=torch.profiler.schedule(wait=5, warmup=3, active=6, repeat=1)'] },
  usual: NONE,
});

export const lightProfiler = remedy({
  id: 'light-profiler',
  title: 'a trace without stacks, shapes and memory',
  cost: 'free',
  risk: 'none',
  check: 'Nothing in the training changes.',
  text: 'Record again without them. Turn one on when you need its answer.',
  plain: { lines: ['profile(..., with_stack=False, record_shapes=False, profile_memory=False)'] },
  usual: NONE,
});
