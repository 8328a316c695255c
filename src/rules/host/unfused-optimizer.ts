import { formatMs } from '../../base/units.js';
import { about } from '../../remedies/remedies.js';
import { gpuOrHost, timeEvidence } from '../kit/evidence.js';
import { FOR_LOOP_LAUNCHES, fuseOptimizer, optimizerOf } from '../kit/optimizer.js';
import { priceOf } from '../kit/price.js';
import { found, silent, type TraceRule } from '../kit/rule.js';

export const rule: TraceRule = {
  reads: 'traces',
  lines: /\.step\(|optim/,
  unpriced: 'allowed',
  info: {
    id: 'unfused-optimizer',
    alias: 'W3',
    title: 'The optimizer updates parameters one by one',
    needs: 'trace',
    looksFor:
      'Inside Optimizer.step: dozens of launches per step that are not multi-tensor kernels (a for-loop), or lists of tensors (foreach) although a fused kernel exists.',
    why: 'A for-loop makes ten or more launches for every parameter. foreach makes them for lists of parameters; fused does all the arithmetic in one kernel.',
    ...about('fused-optimizer'),
    thresholds: [FOR_LOOP_LAUNCHES],
  },
  check(view) {
    const { kind, launches, parameters, gpu } = optimizerOf(view);
    if (kind === 'none') return silent('no Optimizer.step with GPU work found');
    if (kind === 'fused') return silent('the optimizer is already fused');
    const price = priceOf(view, (plan, level) => fuseOptimizer(view, plan, level));
    if (!price && kind === 'foreach') return silent('the optimizer already works on lists of tensors');
    const forParameters = parameters > 0 ? ` for ${parameters.toFixed(0)} parameters` : '';
    const text = `Optimizer.step: ${launches.toFixed(0)} launches per step${forParameters}, ${formatMs(gpu)} of GPU time, none of it fused`;
    return found({
      id: kind === 'for-loop' ? 'optimizer-for-loop' : 'optimizer-foreach',
      title: kind === 'for-loop' ? 'the optimizer loops over parameters' : 'the optimizer is not fused',
      confidence: 0.92,
      addresses: gpuOrHost(view),
      evidence: [timeEvidence(view, gpu, text)],
      price,
    });
  },
};
