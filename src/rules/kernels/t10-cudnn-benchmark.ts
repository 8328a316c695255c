import { largest, smallest } from '../../base/statistics.js';
import { at, evidence, inMs, kernelTime, ms, percent, silent, topKernel } from '../kit/kit.js';
import type { TraceRule } from '../kit/rule.js';

const SHARE = 0.3;
/** Work per step may differ by this much and the shapes still be the same. */
const SAME = 0.02;

export const cudnnBenchmark: TraceRule = {
  reads: 'traces',
  info: {
    id: 'T10',
    title: 'cuDNN could search for its fastest convolutions',
    needs: 'trace or script',
    looksFor:
      'Convolutions take much of a step whose shapes do not change. The trace does not show the flag itself: check it.',
    why: 'cuDNN picks algorithms by rule; with benchmark=True it times them once per shape and keeps the fastest.',
    fix: {
      text: 'If the flag is off and shapes are constant, let cuDNN search. The first steps get slower.',
      code: 'torch.backends.cudnn.benchmark = True',
    },
    check:
      'Algorithms may differ from run to run: not with cudnn.deterministic, not with changing shapes (each new one is searched again).',
    cost: 'free',
    risk: 'none',
    thresholds: [
      {
        name: 'convolutions',
        value: SHARE,
        unit: 'of the step',
        source: 'convolution-heavy: a tenth faster must be worth 3 %',
      },
    ],
  },
  check(view) {
    const isConvolution = (k: { class: string }) => k.class === 'conv';
    const convolutions = kernelTime(view, isConvolution);
    if (convolutions < SHARE * view.step)
      return silent(`convolutions are ${percent(convolutions / view.step)} of the step`);
    if (!constantShapes(view.facts.timePerStep.map((t) => t.compute)))
      return silent('steps compute differently: shapes change');
    const top = topKernel(view, isConvolution)!;
    return {
      findings: [
        {
          id: 'cudnn-benchmark',
          title: 'convolution-heavy with constant shapes: let cuDNN search',
          // The flag cannot be seen in a trace.
          confidence: 0.4,
          addresses: 'gpu',
          evidence: [
            at(
              evidence(
                view,
                `convolutions take ${ms(convolutions)} a step (${percent(convolutions / view.step)}), the same every step; whether the flag is on is not in the trace`,
                inMs(convolutions),
                'ms/step',
              ),
              top.longestTs,
              top.longest,
            ),
          ],
          price: null,
        },
      ],
    };
  },
};

function constantShapes(computePerStep: readonly number[]): boolean {
  const [low, high] = [smallest(computePerStep), largest(computePerStep)];
  return high - low <= SAME * high;
}
