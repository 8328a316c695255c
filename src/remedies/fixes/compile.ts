import { NONE, remedy, type Spelled } from '../kit/remedy.js';

/** What a guard of torch.compile checks. */
type GuardKind = 'size' | 'value' | 'dtype' | 'rank' | 'grad-mode' | 'length' | 'object' | 'other';

/** The guard that fails, from the torch.compile log. */
interface Guard {
  readonly kind: GuardKind;
  /** The compiled function. */
  readonly of: string;
  /** What changes, in words: `the size of dimension 1 of tokens`. */
  readonly changes: string;
  /** The variable, if it has a short name. */
  readonly name: string;
  readonly dimension: number | null;
  /** The limit to raise as a last resort, and to what. */
  readonly setting: string;
  readonly raised: number;
}

export interface Guards {
  readonly guard?: Guard;
  /** Only a log was read, and it names no guard. */
  readonly fromLog?: boolean;
}

const ADVICE: Readonly<Record<GuardKind, string>> = {
  size: 'Pad or bucket it to a few sizes, or mark it dynamic.',
  value: 'Each value is compiled by itself. Pass it as a tensor, or keep it fixed.',
  dtype: 'Cast it before the call, so that it is always the same.',
  rank: 'Give it the same number of dimensions in every call.',
  'grad-mode': 'Compile training and evaluation separately: each keeps its own graphs.',
  length: 'Stack the list into one tensor, or keep its length fixed.',
  object: 'Create the object once, outside the step, and pass the same one in.',
  other: 'Keep what it checks from changing between calls.',
};

const CODE: Readonly<Record<GuardKind, (name: string, dimension: number | null) => readonly string[]>> = {
  size: (name, dimension) => [
    `${name} = pad_to_multiple(${name}, 256, dim=${dimension})  # few sizes`,
    `torch._dynamo.mark_dynamic(${name}, ${dimension})  # or: one graph for all`,
  ],
  value: (name) => [`${name} = torch.tensor(${name}, device="cuda")  # its value is no guard`],
  dtype: (name) => [`${name} = ${name}.to(torch.bfloat16)  # before the compiled call`],
  rank: (name) => [`${name} = ${name}.unsqueeze(0)  # if a dimension is missing`],
  'grad-mode': () => ['train_model = torch.compile(model)', 'eval_model = torch.compile(model)'],
  length: (name) => [`${name} = torch.stack(${name})`],
  object: () => ['# move its construction in front of the training loop'],
  other: () => ['TORCH_LOGS=recompiles python train.py      # all failed guards'],
};

const SEE =
  'See which guard fails, then keep it from changing: pad or bucket lengths, or mark the dimension dynamic.';
const LAST_RESORT = 'Raise the limit only as a last resort.';

export const stableGuards = remedy({
  id: 'stable-guards',
  title: 'shapes and flags that stay the same for compiled code',
  cost: 'code',
  risk: 'numerics',
  check: 'Padding must be masked out of attention and loss: compare the loss on one batch before and after.',
  text: ({ guard, fromLog }: Guards) => {
    if (!guard) return fromLog ? SEE : `${SEE} ${LAST_RESORT}`;
    const changes =
      guard.kind === 'other'
        ? `A guard of ${guard.of} fails: ${guard.changes}.`
        : `In ${guard.of}, ${guard.changes} changes between calls.`;
    return `${changes} ${ADVICE[guard.kind]} ${LAST_RESORT}`;
  },
  plain: ({ guard, fromLog }): Spelled => {
    if (fromLog) return { lines: ['TORCH_LOGS=recompiles python train.py 2> stderr.log'] };
    if (!guard)
      return {
        lines: [
          'TORCH_LOGS=recompiles python train.py      # which function, which guard',
          'x = pad_to_multiple(x, 256)                # few shapes instead of many',
          'torch._dynamo.mark_dynamic(x, 1)           # or: one graph for all lengths',
        ],
      };
    const raise = `torch._dynamo.config.${guard.setting} = ${guard.raised}  # last resort`;
    return { lines: [...CODE[guard.kind](guard.name, guard.dimension), raise] };
  },
  usual: {},
});

export const fewShapes = remedy({
  id: 'few-shapes',
  title: 'batches of a few fixed lengths',
  cost: 'code',
  risk: 'numerics',
  check: stableGuards.check,
  text: 'Pad to a few fixed lengths (pad_to_multiple_of), or compile for all of them at once, in the default mode.',
  plain: { lines: ['model = torch.compile(model, dynamic=True)'] },
  usual: NONE,
});

const FIRST_STEPS = 'The first steps are slow.';

export interface Compile {
  readonly because?: 'launches' | 'memory-traffic';
}

export const compile = remedy({
  id: 'compile',
  title: 'torch.compile of the model',
  cost: 'code',
  risk: 'numerics',
  check: 'Compare the loss of a few hundred steps: fused kernels round differently.',
  text: ({ because }: Compile) =>
    because === 'memory-traffic'
      ? `Let a compiler merge the chains: each tensor is then read and written once. ${FIRST_STEPS}`
      : `Compile the model. ${FIRST_STEPS}`,
  plain: { lines: ['model = torch.compile(model)'] },
  usual: {},
  trial: { answers: ['launch-bound', 'unfused-elementwise'], group: 'compile' },
});

export interface Graphs {
  /** The model is compiled already. */
  readonly compiled?: boolean;
  /** A fused optimizer is part of the gain. */
  readonly fusesOptimizer: boolean;
}

export const FUSED_ADAMW = 'optimizer = torch.optim.AdamW(model.parameters(), lr=lr, fused=True)';

export const compileGraphs = remedy({
  id: 'compile-graphs',
  title: 'torch.compile with CUDA graphs (reduce-overhead)',
  cost: 'code',
  risk: 'numerics',
  check:
    'Compare the loss of a few hundred steps. Outputs of a CUDA graph are overwritten by the next step: clone what you keep.',
  text: ({ compiled, fusesOptimizer }: Graphs) =>
    `${compiled ? 'The model is compiled: add CUDA graphs' : 'Compile the model with CUDA graphs'}${fusesOptimizer ? ', and use a fused optimizer (included in the gain)' : ''}. It needs static shapes. ${FIRST_STEPS}`,
  plain: ({ fusesOptimizer }) => ({
    lines: ['model = torch.compile(model, mode="reduce-overhead")', ...(fusesOptimizer ? [FUSED_ADAMW] : [])],
  }),
  usual: { fusesOptimizer: true },
  trial: {
    answers: ['no-cuda-graphs'],
    alsoFor: ['launch-bound'],
    group: 'compile',
    args: () => ({ fusesOptimizer: false }),
  },
});

export const compileOnce = remedy({
  id: 'compile-once',
  title: 'compile once, before the loop',
  cost: 'code',
  risk: 'none',
  check: 'Results are the same.',
  text: 'Compile once before the loop.',
  plain: { lines: ['model = torch.compile(model)  # before the training loop'] },
  usual: NONE,
});

export const wholeGraph = remedy({
  id: 'whole-graph',
  title: 'a compiled model without graph breaks',
  cost: 'code',
  risk: 'none',
  check: 'Compare the loss on one batch before and after.',
  text: 'Remove the cause of each break, or move it out of the compiled function.',
  plain: { lines: ['torch.compile(model, fullgraph=True)  # raises an error at the first break'] },
  usual: NONE,
});

export const keepCompileCache = remedy({
  id: 'keep-compile-cache',
  title: 'compiled code kept between runs',
  cost: 'knob',
  risk: 'none',
  check: 'Start the same job twice: the second start should find its code in the cache.',
  text: 'Keep the cache of compiled code on a disk that outlives the job and that all machines see. Its default is a folder in /tmp.',
  plain: { lines: ['export TORCHINDUCTOR_CACHE_DIR=/shared/torchinductor'] },
  usual: NONE,
});
