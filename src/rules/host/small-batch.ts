import { formatCount, formatMs, formatPercent, ns, share, toUs, us } from '../../base/units.js';
import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import { about, use } from '../../remedies/remedies.js';
import { evidence } from '../kit/evidence.js';
import { idleForLaunches, operatorsOf, trains } from '../kit/host.js';
import { loadsBatches } from '../kit/loader.js';
import { found, type RuleResult, silent, type TraceRule, threshold } from '../kit/rule.js';
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

const SHORT_OPERATOR = threshold(
  'short operator on a CPU',
  us(5),
  'µs',
  'measured on 2 cores: 0.5–4 µs for batches of 1 and loops over samples, 28 µs and more for batches of 32',
);
const OPERATORS = threshold('operators on a CPU', 300, 'a step', 'a small model calls fewer');

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
    thresholds: [BUSY, IDLE, SHORT_KERNEL, SHORT_OPERATOR, OPERATORS],
  },
  check(view) {
    if (!view.facts.hasGpuWork) return onHost(view);
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

/** Half of the operators’ own time goes to ones that take less than this on average: it is what calling them costs. */
function onHost(view: TraceView): RuleResult {
  const operators = operatorsOf(view).filter((o) => o.name.startsWith('aten::'));
  const count = operators.reduce((sum, o) => sum + o.count, 0) / (view.facts.detail?.steps ?? 1);
  if (count < OPERATORS.value) return silent('a step calls few operators');
  const byMean = operators.toSorted((a, b) => a.self / a.count - b.self / b.count);
  const half = operators.reduce((sum, o) => sum + o.self, 0) / 2;
  let below = 0;
  const middle = byMean.find((o) => {
    below += o.self;
    return below >= half;
  });
  const typical = ns(middle ? middle.self / middle.count : 0);
  if (toUs(typical) > SHORT_OPERATOR.value)
    return silent(`operators are long enough (${formatMs(typical)} for half of their time)`);
  const text = `a step calls ${formatCount(Math.round(count), 'operator')}, and half of their time goes to ones that take ${toUs(typical).toFixed(1)} µs or less: most of that is what any call costs`;
  return found({
    id: 'small-batch',
    title: 'each operator carries too little work',
    confidence: 0.75,
    addresses: 'gpu',
    evidence: [evidence(view, text, Math.round(typical / 100) / 10, 'µs/operator')],
    price: null,
    remedy: use('larger-micro-batch', { trains: trains(view), onHost: true }),
  });
}
