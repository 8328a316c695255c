import { checkJobPhase, LEAST_PHASE } from '../kit/job-phase.js';
import type { AnyRule } from '../kit/rule.js';

export const rule: AnyRule = {
  reads: 'traces and logs',
  info: {
    id: 'compile-time',
    alias: 'T16',
    title: 'torch.compile compiles again and again',
    needs: 'events of whyslow run',
    looksFor: 'Compilations that go on after the first steps, on CPUs as on GPUs.',
    why: 'A new length, a changed flag or a new object breaks a guard, and torch.compile compiles again. After 8 times it gives up and runs eagerly.',
    fix: {
      text: 'See which guard fails, then keep it from changing: pad or bucket lengths, or mark the dimension dynamic. Raising the limit is the last resort.',
      code: 'TORCH_LOGS=recompiles python train.py      # which function, which guard\nx = pad_to_multiple(x, 256)                # few shapes instead of many\ntorch._dynamo.mark_dynamic(x, 1)           # or: one graph for all lengths',
    },
    check:
      'Padding must be masked out of attention and loss: compare the loss on one batch before and after.',
    cost: 'code',
    risk: 'numerics',
    thresholds: [LEAST_PHASE],
  },
  check: (view) =>
    checkJobPhase(view, 'compile', 'compilation', {
      title: 'code is compiled again and again while training runs',
    }),
};
