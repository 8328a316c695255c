import { BUSY, MIN_NAMED } from '../../answers/steps/shares.js';
import { about } from '../../remedies/remedies.js';
import { type AnyRule, silent, threshold } from '../kit/rule.js';

export const rule: AnyRule = {
  reads: 'traces and logs',
  servesToo: true,
  info: {
    id: 'step-split',
    alias: 'T1',
    title: 'Where the step’s time goes: GPU, data, communication or host',
    needs: 'trace or events',
    looksFor:
      'Always: every instant of the measured steps belongs to one class of time, and the rule names the largest class that can be won back.',
    why: 'Work on anything but the bottleneck changes nothing. GPU work is counted for the step that launched it, and the profiler’s own cost is taken out, because both mislead otherwise.',
    ...about('first-bottleneck'),
    thresholds: [
      threshold('the GPU is the limit from', BUSY, 'of the step computing', 'docs/method/verdict.md'),
      threshold(
        'worth naming from',
        MIN_NAMED,
        'of the step',
        'docs/method/verdict.md; XProf and TensorBoard plugin: 5–20%',
      ),
    ],
  },
  check: () => silent('it is the verdict itself'),
};
