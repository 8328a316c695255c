import { formatMs, formatWhole, formatWholePercent, share } from '../../base/units.js';
import type { RankView, TraceView } from '../../diagnosis/ranks/rank-view.js';
import { about } from '../../remedies/remedies.js';
import type { KernelTotal } from '../../traces/detail/kernel-table.js';
import { NEEDS_TRACE } from '../kit/ask.js';
import { atKernel, percentOfStep, shortened, silentBelow, timeEvidence } from '../kit/evidence.js';
import {
  capabilitiesOf,
  isDouble,
  isNarrow,
  type MatrixPrecision,
  rateRatio,
  speedUpMatrixWork,
} from '../kit/matrix-rates.js';
import { priceOf, priceOfStep } from '../kit/price.js';
import {
  type AnyRule,
  found,
  type Level,
  type Levels,
  type RuleResult,
  silent,
  threshold,
  WITHIN_NOISE,
} from '../kit/rule.js';
import { editWork, isMatrixWork, topKernel, workTime } from '../kit/work.js';

const DOUBLE = threshold('double-precision kernels', share(0.05), 'of the step', WITHIN_NOISE);
/** From this part of the step on, 16-bit products show that the job runs under autocast. */
const SHOWS_TYPE = 0.02;
/** Kernels other than products move half the bytes. Reductions gain more: they also compute (zoo `table_doubles`: 0.22–0.5). */
const OTHERS_LEFT: Levels = { low: 0.6, likely: 0.5, high: 0.35 };

const isDoubleProduct = (k: KernelTotal) => isMatrixWork(k) && isDouble(k);
const isOtherDouble = (k: KernelTotal) => !isMatrixWork(k) && isDouble(k);

export const rule: AnyRule = {
  reads: 'traces and logs',
  unpriced: 'allowed',
  info: {
    id: 'double-precision',
    alias: 'T13',
    title: 'The model computes in double precision',
    needs: 'trace; on a CPU what whyslow run records about the parameters',
    looksFor:
      'Kernels on 64-bit floats that take a visible part of the step; scalars in double do not count. On a CPU: parameters in 64-bit floats.',
    why: 'It is almost always an accident: NumPy arrays are float64 by default, and torch.from_numpy keeps that. One such tensor makes every result double. Products then miss the fast tensor cores, and all kernels move twice the bytes.',
    ...about('single-precision'),
    thresholds: [DOUBLE],
  },
  check(view, run) {
    if (!view.facts.hasGpuWork) return onCpu(view, run.captured.get(view.rank)?.parameters ?? {});
    if (view.source === 'log') return NEEDS_TRACE;
    const all = workTime(view, isDouble);
    if (all.count === 0) return silent('nothing runs in double precision');
    const small = silentBelow(view, all.ns, DOUBLE, 'double-precision kernels are');
    if (small) return small;
    const products = workTime(view, isDoubleProduct);
    const top = topKernel(view, isDouble)!;
    const text = `${all.count.toFixed(0)} kernels compute in double precision: ${formatMs(all.ns)} per step (${percentOfStep(view, all.ns)}), ${formatMs(products.ns)} of it in matrix products; longest: ${shortened(top.name)}`;
    const after = typesAfter(view);
    const known = products.ns === 0 || rateRatio(view, 'fp64', after.likely, 'likely') !== null;
    return found({
      id: 'double-precision',
      title: 'the model computes in double precision',
      confidence: products.ns > 0 ? 0.95 : 0.85,
      addresses: 'gpu',
      evidence: [atKernel(top, timeEvidence(view, all.ns, text))],
      price: known
        ? priceOf(view, (plan, level) => {
            speedUpMatrixWork(view, plan, level, after[level], isDoubleProduct);
            editWork(view, plan, isOtherDouble, ({ ns }) => ns * OTHERS_LEFT[level]);
          })
        : null,
    });
  },
};

/** In which type products run after the fix: as the others of the job, else in TF32, which the fix turns on. */
function typesAfter(view: TraceView): Readonly<Record<Level, MatrixPrecision>> {
  const has = capabilitiesOf(view);
  const narrow = workTime(view, (k) => isMatrixWork(k) && isNarrow(k)).ns;
  // Autocast leaves double as it is, and takes float32 along.
  if (has?.hasBf16 && narrow >= SHOWS_TYPE * view.step.unprofiled)
    return { low: 'tf32', likely: 'bf16', high: 'bf16' };
  return has?.hasTf32
    ? { low: 'tf32', likely: 'tf32', high: 'tf32' }
    : { low: 'fp32', likely: 'fp32', high: 'fp32' };
}

/** Vector units hold twice as many 32-bit floats, and half the bytes move (jobs p24: ×2.1 by hand). Python stays as it is. */
const CPU_LEFT: Levels = { low: 0.8, likely: 0.52, high: 0.45 };
/** With fewer parameters in double, something computes in it on purpose: a loss, statistics. */
const MOST_PARAMETERS = 0.5;

function onCpu(view: RankView, parameters: Readonly<Record<string, number>>): RuleResult {
  const all = Object.values(parameters).reduce((sum, count) => sum + count, 0);
  if (all === 0) return silent('the number format of the parameters was not recorded');
  const part = share((parameters.float64 ?? 0) / all);
  if (part < MOST_PARAMETERS) return silent('parameters are not in double precision');
  const time = view.time.compute;
  const small = silentBelow(view, time, DOUBLE, 'computing is');
  if (small) return small;
  const text = `${formatWholePercent(part)} of the ${formatWhole(all)} trained parameters are 64-bit floats; operators take ${formatMs(time)} per step (${percentOfStep(view, time)})`;
  return found({
    id: 'double-precision',
    title: 'the model computes in double precision',
    confidence: 0.9,
    addresses: 'gpu',
    evidence: [timeEvidence(view, time, text)],
    price: priceOfStep(view, (level) => view.step.unprofiled - time * (1 - CPU_LEFT[level])),
  });
}
