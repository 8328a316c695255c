import { largest, smallest } from '../../base/statistics.js';
import { formatMs, share } from '../../base/units.js';
import { about } from '../../remedies/remedies.js';
import type { KernelTotal } from '../../traces/detail/kernel-table.js';
import { atKernel, percentOfStep, silentBelow, timeEvidence } from '../kit/evidence.js';
import { found, silent, type TraceRule, threshold } from '../kit/rule.js';
import { kernelTime, topKernel } from '../kit/work.js';

const CONVOLUTIONS = threshold(
  'convolutions',
  share(0.3),
  'of the step',
  'convolution-heavy: a tenth faster must be worth 3%',
);
/** GPU time per step may differ by this much while the shapes stay the same. */
const SAME = 0.02;

export const rule: TraceRule = {
  reads: 'traces',
  unpriced: 'allowed',
  info: {
    id: 'cudnn-benchmark',
    alias: 'T10',
    title: 'cuDNN could search for its fastest convolutions',
    needs: 'trace or script',
    looksFor:
      'Convolutions take much of the step, and shapes do not change. The trace does not show the flag itself: check it.',
    why: 'cuDNN picks algorithms by heuristics. With benchmark=True it times them once per shape and keeps the fastest.',
    ...about('cudnn-benchmark'),
    thresholds: [CONVOLUTIONS],
  },
  check(view) {
    const isConvolution = (k: KernelTotal) => k.class === 'conv';
    const time = kernelTime(view, isConvolution);
    const small = silentBelow(view, time, CONVOLUTIONS, 'convolutions are');
    if (small) return small;
    if (!isConstant(view.facts.timePerStep.map((t) => t.compute)))
      return silent('compute time differs between steps: shapes change');
    const text = `convolutions take ${formatMs(time)} per step (${percentOfStep(view, time)}), the same every step; the trace does not show whether the flag is on`;
    return found({
      id: 'cudnn-benchmark',
      title: 'convolution-heavy with constant shapes: let cuDNN search',
      // A trace does not show the flag.
      confidence: 0.4,
      addresses: 'gpu',
      evidence: [atKernel(topKernel(view, isConvolution), timeEvidence(view, time, text))],
      price: null,
    });
  },
};

function isConstant(computePerStep: readonly number[]): boolean {
  const most = largest(computePerStep);
  return most - smallest(computePerStep) <= SAME * most;
}
