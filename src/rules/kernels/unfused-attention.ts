import { formatMs } from '../../base/units.js';
import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import { about, elsewhere } from '../../remedies/remedies.js';
import type { Plan } from '../../replay/plan.js';
import { Role } from '../../traces/detail/roles.js';
import { atKernel, percentOfStep, timeEvidence } from '../kit/evidence.js';
import { hasUnfusedAttention, isUnfused, UNFUSED } from '../kit/fusable.js';
import { is32Bit } from '../kit/matrix-rates.js';
import { priceOf } from '../kit/price.js';
import { found, type Level, type Levels, silent, type TraceRule } from '../kit/rule.js';
import { editWork, has, isMatrixWork, piecesOf, REMOVED, workTime } from '../kit/work.js';

/** Part of the peak that batched products of attention reach (zoo, head size 64: 0.6 in plain fp32), and fused kernels. */
const PRODUCTS_REACH = { fp32: 0.6, tf32: 0.25 } as const;
const FUSED_REACHES: Levels = { low: 0.2, likely: 0.4, high: 0.6 };
const FUSED_FP32_REACHES = 0.75;
/** Against products that are already 16 bit: they write and read the whole matrix of scores, the fused kernel does not. */
const FUSED_OF_NARROW: Levels = { low: 1, likely: 0.6, high: 0.35 };

export const rule: TraceRule = {
  reads: 'traces',
  unpriced: 'allowed',
  info: {
    id: 'unfused-attention',
    alias: 'T14',
    title: 'Attention runs as separate operators instead of one fused kernel',
    needs: 'trace',
    looksFor:
      'A softmax between batched matrix products, forward and backward: scaled_dot_product_attention with the math backend, or attention written by hand.',
    why: 'The scores are a matrix of sequence length squared. Unfused, it goes to memory and back for the product, scale, mask, softmax and dropout; a fused kernel never stores it.',
    more: `${elsewhere('fused-attention')} torch has the fused kernels; the package flash-attn is for code that imports it. Use a wheel that matches CUDA, torch and Python. To build it, install ninja first, or it compiles for hours; with less than 96 GB of memory set MAX_JOBS=4.`,
    ...about('fused-attention'),
    thresholds: [UNFUSED],
  },
  check(view) {
    if (!hasUnfusedAttention(view)) {
      const fused = workTime(view, (k) => k.class === 'attention').ns;
      return silent(fused > 0 ? 'attention runs in fused kernels' : 'no unfused attention found');
    }
    const all = workTime(view, (_, roles) => isUnfused(roles));
    const products = workTime(view, (k, roles) => isUnfused(roles) && isMatrixWork(k));
    const softmax = workTime(view, (k, roles) => isUnfused(roles) && k.class === 'softmax');
    const softmaxes = piecesOf(view, ({ roles }) => isUnfused(roles) && has(roles, Role.softmax));
    const text = `unfused attention: ${formatMs(all.ns)} per step (${percentOfStep(view, all.ns)}): products ${formatMs(products.ns)}, softmax ${formatMs(softmax.ns)}, the rest masks, scales and copies, in ${all.count.toFixed(0)} kernels`;
    return found({
      id: 'unfused-attention',
      title: 'attention is not fused: scores go through memory',
      confidence: 0.93,
      addresses: 'gpu',
      evidence: [atKernel(softmaxes.list[0]?.kernel, timeEvidence(view, all.ns, text))],
      price: view.rates?.tflops.bf16 ? priceOf(view, (plan, level) => fuse(view, plan, level)) : null,
    });
  },
};

/** Everything but the products goes; the products take the time of a fused kernel. */
function fuse(view: TraceView, plan: Plan, level: Level): void {
  const wide = workTime(view, (k, roles) => !isUnfused(roles) && isMatrixWork(k) && is32Bit(k)).ns;
  const narrow = workTime(view, (k, roles) => !isUnfused(roles) && isMatrixWork(k) && !is32Bit(k)).ns;
  // The rest of the model shows in which type the fused kernel would run.
  const { tflops } = view.rates!;
  const fusedRate =
    narrow >= wide ? tflops.bf16! * FUSED_REACHES[level] : (tflops.fp32 ?? 0) * FUSED_FP32_REACHES;
  editWork(
    view,
    plan,
    (_, roles) => isUnfused(roles),
    ({ kernel, ns }) => {
      if (!isMatrixWork(kernel)) return REMOVED;
      if (!is32Bit(kernel) || !(fusedRate > 0)) return ns * FUSED_OF_NARROW[level];
      const type = kernel.precision === 'tf32' ? 'tf32' : 'fp32';
      return ns * Math.min(1, ((tflops[type] ?? 0) * PRODUCTS_REACH[type]) / fusedRate);
    },
  );
}
