import { evidence, inMs, ms, priceOf, silent, worthwhile } from '../kit/kit.js';
import type { TraceRule } from '../kit/rule.js';
import { fuseOptimizer, optimizerOf } from './fuse-optimizer.js';

export const fusedOptimizer: TraceRule = {
  reads: 'traces',
  info: {
    id: 'W3',
    title: 'The optimizer updates parameters one by one',
    needs: 'trace',
    looksFor:
      'Inside Optimizer.step: dozens of launches a step that are no multi-tensor kernels (a for-loop), or lists of tensors (foreach) where a fused kernel exists.',
    why: 'A for-loop makes ten or more launches for every parameter. foreach makes them for lists of parameters, fused does all the arithmetic in one kernel.',
    fix: {
      text: 'Use the fused implementation; where there is none, foreach.',
      code: 'torch.optim.AdamW(model.parameters(), lr=lr, fused=True)',
    },
    check:
      'Same arithmetic in another order: loss curves agree to rounding. fused needs all parameters on the GPU in floating point.',
    cost: 'knob',
    risk: 'numerics',
    thresholds: [
      {
        name: 'launches of a for-loop',
        value: 40,
        unit: 'a step',
        source: 'foreach and fused make 2–20; a for-loop 3–14 for each parameter',
      },
    ],
  },
  check(view) {
    const optimizer = optimizerOf(view);
    if (optimizer.kind === 'none') return silent('no Optimizer.step with GPU work was seen');
    if (optimizer.kind === 'fused') return silent('the optimizer is fused already');
    const price = priceOf(view, (plan, level) => fuseOptimizer(view, plan, level));
    if (price && !worthwhile(price))
      return silent(`the optimizer (${optimizer.kind}) does not hold up the step`);
    if (!price && optimizer.kind === 'foreach')
      return silent('the optimizer works on lists of tensors already');
    const hostBound = view.time.compute < 0.5 * view.step;
    return {
      findings: [
        {
          id: optimizer.kind === 'for-loop' ? 'optimizer-for-loop' : 'optimizer-foreach',
          title:
            optimizer.kind === 'for-loop'
              ? 'the optimizer loops over parameters'
              : 'the optimizer is not fused',
          confidence: 0.92,
          addresses: hostBound ? 'host' : 'gpu',
          evidence: [
            evidence(
              view,
              `Optimizer.step: ${optimizer.launches.toFixed(0)} launches a step${optimizer.parameters > 0 ? ` for ${optimizer.parameters.toFixed(0)} parameters` : ''}, ${ms(optimizer.gpu)} of GPU time, none of it fused`,
              inMs(optimizer.gpu),
              'ms/step',
            ),
          ],
          price,
        },
      ],
    };
  },
};
