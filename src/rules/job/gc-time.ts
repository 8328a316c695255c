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
    fix: {
      text: 'Take the objects that are there before training out of its sight, and collect at steps of your choice, on all ranks at once. Leave out calls of gc.collect() and torch.cuda.empty_cache() in the loop.',
      code: 'gc.collect(); gc.freeze()          # once, before the first step\ngc.disable()\nif step % 1000 == 0: gc.collect()  # in the loop',
    },
    check: 'Watch the host’s memory: reference cycles live until the next collection.',
    cost: 'code',
    risk: 'memory',
    thresholds: [LEAST_PHASE],
  },
  check: (view) =>
    checkJobPhase(view, 'gc', 'full collection', { title: 'the garbage collector holds up training' }),
};
