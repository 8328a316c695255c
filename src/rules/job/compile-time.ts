import { about } from '../../remedies/remedies.js';
import { checkJobPhase, LEAST_PHASE } from '../kit/job-phase.js';
import type { AnyRule } from '../kit/rule.js';

export const rule: AnyRule = {
  reads: 'traces and logs',
  info: {
    id: 'compile-time',
    alias: 'T16',
    title: 'torch.compile recompiles repeatedly',
    needs: 'events of whyslow run',
    looksFor: 'Compilations that continue after the first steps, on CPUs and GPUs.',
    why: 'A new length, a changed flag or a new object breaks a guard, and torch.compile compiles again. After 8 times it gives up and runs eagerly.',
    ...about('stable-guards'),
    thresholds: [LEAST_PHASE],
  },
  check: (view) =>
    checkJobPhase(view, 'compile', 'compilation', {
      title: 'code is recompiled repeatedly while training runs',
    }),
};
