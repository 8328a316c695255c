import { formatMs, formatPercent, share, toUs, us } from '../../base/units.js';
import { about, use } from '../../remedies/remedies.js';
import { evidence } from '../kit/evidence.js';
import { idleForLaunches, trains } from '../kit/host.js';
import { loadsBatches } from '../kit/loader.js';
import { found, silent, type TraceRule, threshold } from '../kit/rule.js';
import { medianKernel } from '../kit/work.js';

const BUSY = threshold(
  'computing, at most',
  share(0.5),
  'of the step',
  'TensorBoard plugin: utilization below 50%',
);
const IDLE = threshold('idle for the host', share(0.3), 'of the step', 'twice the threshold of launch-bound');
const SHORT_KERNEL = threshold(
  'short kernel, median',
  us(20),
  'µs',
  'host cost of an eager operator: 5–20 µs',
);

export const rule: TraceRule = {
  reads: 'traces',
  recurs: true,
  unpriced: 'allowed',
  info: {
    id: 'small-batch',
    alias: 'T18',
    title: 'Kernels are too small to fill the device',
    needs: 'trace',
    looksFor:
      'The GPU mostly waits for the host, and its kernels last only microseconds: each launch carries too little work.',
    why: 'A step costs the host the same time at any batch size. A larger micro-batch carries more samples for the same launches.',
    more: 'The same effective batch runs faster in fewer pieces: micro-batches of 4 with 16 accumulation steps rather than of 1 with 64.',
    ...about('larger-micro-batch'),
    thresholds: [BUSY, IDLE, SHORT_KERNEL],
  },
  check(view) {
    if (view.facts.program.task === 'inference' && !loadsBatches(view))
      return silent('this is inference: the requests decide the batch size');
    const typical = medianKernel(view);
    if (typical === null) return silent('launches were not recorded');
    const busy = share(view.time.compute / view.step.unprofiled);
    if (busy > BUSY.value || idleForLaunches(view) < IDLE.value)
      return silent(`the GPU computes ${formatPercent(busy)} of the step`);
    if (toUs(typical) > SHORT_KERNEL.value)
      return silent(`kernels are long enough (median ${formatMs(typical)})`);
    const text = `the GPU computes ${formatPercent(busy)} of the step, median kernel ${toUs(typical).toFixed(1)} µs: up to ${(1 / Math.max(busy, 0.01)).toFixed(0)} times as many samples would fit into the same time`;
    return found({
      id: 'small-batch',
      title: 'each launch carries too little work',
      confidence: 0.75,
      addresses: 'host',
      evidence: [evidence(view, text, Math.round(typical / 10) / 100, 'µs/kernel')],
      price: null,
      remedy: use('larger-micro-batch', { trains: trains(view) }),
    });
  },
};
