import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import { about, use } from '../../remedies/remedies.js';
import { checkJobPhase, LEAST_PHASE } from '../kit/job-phase.js';
import type { AnyRule } from '../kit/rule.js';

export const rule: AnyRule = {
  reads: 'traces and logs',
  info: {
    id: 'gc-time',
    alias: null,
    title: 'Python’s garbage collector holds up training',
    needs: 'events of whyslow run',
    looksFor: 'Time in full garbage collections, started by Python or by gc.collect().',
    why: 'A full collection looks at every object of the process: torch alone has about 300,000, a tokenizer or a dataset held in lists has millions. With several ranks each collects at another moment, and the others wait.',
    ...about('gc-frozen'),
    thresholds: [LEAST_PHASE],
  },
  check: (view) =>
    checkJobPhase(view, 'gc', 'full collection', {
      title: 'the garbage collector holds up training',
      remedy: use('gc-frozen', { asked: asksFor(view) }),
    }),
};

/** As capture names the call: otherwise the collector started by itself. */
const asksFor = ({ job }: RankView): boolean =>
  job?.phases.some(({ name, call }) => name === 'gc' && call === 'gc.collect') ?? false;
