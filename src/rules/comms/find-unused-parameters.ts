import { formatMs } from '../../base/units.js';
import { about } from '../../remedies/remedies.js';
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
    ...about('ddp-static-graph'),
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
