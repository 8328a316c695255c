import { formatMs } from '../../base/units.js';
import { about } from '../../remedies/remedies.js';
import { removeCalls } from '../../replay/edits.js';
import { Role } from '../../traces/detail/roles.js';
import { gpuOrHost, percentOfStep, timeEvidence } from '../kit/evidence.js';
import { isWorthwhile, priceOf } from '../kit/price.js';
import { found, silent, type TraceRule } from '../kit/rule.js';
import { has, workTime } from '../kit/work.js';

const isZeroGrad = (roles: number) => has(roles, Role.zeroGrad);

export const rule: TraceRule = {
  reads: 'traces',
  info: {
    id: 'zero-fill',
    alias: 'T12',
    title: 'Gradients are filled with zeros instead of dropped',
    needs: 'trace or script',
    looksFor: 'Kernels that zero_grad launches (set_to_none=False), if they cost something.',
    why: 'Filling every gradient with zeros writes it once more, and backward then adds to it instead of writing it.',
    ...about('drop-gradients'),
    thresholds: [],
  },
  check(view) {
    if (!view.facts.hasGpuWork) return silent('no GPU work: filling gradients is looked for on GPUs');
    const zeros = workTime(view, (k, roles) => isZeroGrad(roles) && k.class !== 'copy');
    if (zeros.count === 0) return silent('gradients are not filled with zeros');
    const price = priceOf(view, (plan) => removeCalls(plan, (n) => isZeroGrad(plan.nodes.roles[n]!)));
    if (!isWorthwhile(price))
      return silent(`filling gradients with zeros costs ${percentOfStep(view, zeros.ns)} of the step`);
    const text = `zero_grad launches ${zeros.count.toFixed(0)} kernels per step, ${formatMs(zeros.ns)}`;
    return found({
      id: 'zero-fill',
      title: 'gradients are filled with zeros instead of dropped',
      confidence: 0.9,
      addresses: gpuOrHost(view),
      evidence: [timeEvidence(view, zeros.ns, text)],
      price,
    });
  },
};
