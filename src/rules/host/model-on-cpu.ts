import { formatMs, formatWholePercent, ns, share } from '../../base/units.js';
import { computesOnCpu, cpuOnlyTime } from '../../diagnosis/ranks/rank-view.js';
import { about } from '../../remedies/remedies.js';
import { timeEvidence } from '../kit/evidence.js';
import { found, silent, type TraceRule, threshold } from '../kit/rule.js';

const ON_CPU = threshold(
  'operators that only run on the CPU',
  share(0.5),
  'of the step',
  'the model, not a detail',
);

export const rule: TraceRule = {
  reads: 'traces',
  unpriced: 'allowed',
  info: {
    id: 'model-on-cpu',
    alias: null,
    title: 'The machine has a GPU, and the model runs on the CPU',
    needs: 'trace',
    looksFor:
      'A GPU that the trace lists and that does nothing, while operators that exist only for the CPU (oneDNN, MKL) take most of the step.',
    why: 'A model that was never moved, or a build of PyTorch without CUDA, trains on the CPU without a warning.',
    ...about('to-device'),
    thresholds: [ON_CPU],
  },
  check(view) {
    const { device, hasGpuWork } = view.facts;
    if (device === null) return silent('the trace lists no GPU');
    if (hasGpuWork) return silent('the GPU is used');
    if (!computesOnCpu(view)) return silent('nothing proves that the model runs on the CPU');
    const time = ns(cpuOnlyTime(view));
    const part = formatWholePercent(share(time / view.step.recorded));
    const text = `operators that only run on the CPU take ${formatMs(time)} (${part} of what was recorded); ${device.name} does nothing`;
    return found({
      id: 'model-on-cpu',
      title: 'the model runs on the CPU, although the machine has a GPU',
      confidence: 0.9,
      addresses: 'gpu',
      evidence: [timeEvidence(view, time, text)],
      price: null,
    });
  },
};
