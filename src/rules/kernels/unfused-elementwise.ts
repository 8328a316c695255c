import { formatMs } from '../../base/units.js';
import { about } from '../../remedies/remedies.js';
import { percentOfStep, timeEvidence } from '../kit/evidence.js';
import { ELEMENTWISE, priceOfFusing, SURE } from '../kit/fusable.js';
import { found, type TraceRule } from '../kit/rule.js';

export const rule: TraceRule = {
  reads: 'traces',
  info: {
    id: 'unfused-elementwise',
    alias: 'T15',
    title: 'Elementwise kernels are not fused',
    needs: 'trace',
    looksFor:
      'Chains of elementwise, norm and copy kernels between matrix products, long enough that merging them must save time, on a busy GPU and in a model that is not compiled.',
    why: 'Each kernel of a chain reads and writes its whole tensor, so memory bandwidth sets the pace. A compiler merges the chain: each tensor is read and written once.',
    ...about('compile'),
    thresholds: [SURE, ELEMENTWISE],
  },
  check(view) {
    const fusing = priceOfFusing(view);
    if ('silent' in fusing) return fusing;
    const { kernels, chains, price } = fusing;
    const text = `${kernels.count.toFixed(0)} elementwise, norm and copy kernels in ${chains.toFixed(0)} chains take ${formatMs(kernels.ns)} per step (${percentOfStep(view, kernels.ns)}), each reading and writing its whole tensor`;
    const setPace = kernels.ns >= ELEMENTWISE.value * view.step.unprofiled;
    return found({
      id: 'unfused-elementwise',
      title: 'the GPU is busy reading and writing: elementwise kernels are not fused',
      confidence: setPace ? 0.85 : 0.75,
      addresses: 'gpu',
      evidence: [timeEvidence(view, kernels.ns, text)],
      price,
    });
  },
};
