import { silent } from '../kit/kit.js';
import type { AnyRule } from '../kit/rule.js';

export const split: AnyRule = {
  reads: 'traces and logs',
  info: {
    id: 'T1',
    title: 'Where the step’s time goes: GPU, data, communication or host',
    needs: 'trace or events',
    looksFor:
      'Always: every instant of the measured steps belongs to one class, and the largest one that can be won back is named.',
    why: 'Work on anything but the bottleneck changes nothing. GPU work is counted for the step that launched it, and the profiler’s own cost is taken out, because both mislead otherwise.',
    fix: {
      text: 'Fix what is named first, measure again, then the next.',
      code: 'whyslow diagnose TRACE_OR_DIRECTORY',
    },
    check: 'Compare step times without the profiler before and after.',
    cost: null,
    risk: 'none',
    thresholds: [
      { name: 'GPU-bound from', value: 0.85, unit: 'of the step computing', source: 'method 3' },
      {
        name: 'worth naming from',
        value: 0.1,
        unit: 'of the step',
        source: 'method 3; XProf and TensorBoard plugin: 5–20 %',
      },
    ],
  },
  check: () => silent('it is the verdict itself'),
};
