import { NONE, remedy } from '../kit/remedy.js';

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
