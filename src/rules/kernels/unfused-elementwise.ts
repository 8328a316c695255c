import { formatMs } from '../../base/units.js';
import { percentOfStep, timeEvidence } from '../kit/evidence.js';
import { ELEMENTWISE, isFusable, priceOfFusing } from '../kit/fusable.js';
import { found, type TraceRule } from '../kit/rule.js';
import { workTime } from '../kit/work.js';

export const rule: TraceRule = {
  reads: 'traces',
  info: {
    id: 'unfused-elementwise',
    alias: 'T15',
    title: 'Elementwise kernels are not fused',
    needs: 'trace',
    looksFor:
      'Chains of elementwise, norm and copy kernels that keep the GPU busy, in a model that is not compiled.',
    why: 'Each kernel of a chain reads and writes its whole tensor, so memory bandwidth sets the pace. A compiler merges the chain: each tensor is read and written once.',
    fix: {
      text: 'Let a compiler merge the chains: each tensor is then read and written once. The first steps are slow.',
      code: 'model = torch.compile(model)',
    },
    check: 'Compare the loss of a few hundred steps: fused kernels round differently.',
    cost: 'code',
    risk: 'numerics',
    thresholds: [ELEMENTWISE],
  },
  check(view) {
    const fusing = priceOfFusing(view);
    if ('silent' in fusing) return fusing;
    const chains = workTime(view, isFusable);
    const text = `${chains.count.toFixed(0)} elementwise, norm and copy kernels take ${formatMs(chains.ns)} a step (${percentOfStep(view, chains.ns)}), each reading and writing its whole tensor`;
    return found({
      id: 'unfused-elementwise',
      title: 'the GPU is busy reading and writing: elementwise kernels are not fused',
      confidence: 0.85,
      addresses: 'gpu',
      evidence: [timeEvidence(view, chains.ns, text)],
      price: fusing.price,
    });
  },
};
