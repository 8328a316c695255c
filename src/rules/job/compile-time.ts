import { about } from '../../remedies/remedies.js';
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
    ...about('stable-guards'),
    thresholds: [LEAST_PHASE],
  },
  check: (view) =>
    checkJobPhase(view, 'compile', 'compilation', {
      title: 'code is compiled again and again while training runs',
    }),
};
