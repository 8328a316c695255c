import { formatMs } from '../../base/units.js';
import { timeEvidence } from '../kit/evidence.js';
import { hostTime } from '../kit/host.js';
import { found, silent, type TraceRule } from '../kit/rule.js';

export const rule: TraceRule = {
  reads: 'traces',
  unpriced: 'allowed',
  info: {
    id: 'find-unused-parameters',
    alias: 'T23',
    title: 'DDP searches for unused parameters every step',
    needs: 'trace',
    looksFor: 'search_unused_parameters of DDP’s reducer.',
    why: 'DDP walks the whole autograd graph every step to find parameters that got no gradient.',
    fix: {
      text: 'Turn the search off when every parameter takes part in the loss; with a graph that never changes, static_graph finds the others once.',
      code: 'DDP(model, find_unused_parameters=False)\n# or: DDP(model, static_graph=True)',
    },
    check: 'DDP raises an error in the next step if a parameter got no gradient.',
    cost: 'knob',
    risk: 'none',
    thresholds: [],
  },
  check(view) {
    const { ns, operators } = hostTime(view, (o) => /search_unused_parameters/.test(o.name));
    if (operators.length === 0) return silent('DDP does not search for unused parameters');
    return found({
      id: 'find-unused-parameters',
      title: 'DDP searches for unused parameters every step',
      confidence: 0.9,
      addresses: 'comms',
      evidence: [timeEvidence(view, ns, `${operators[0]!.name}: ${formatMs(ns)} per step`)],
      price: null,
    });
  },
};
