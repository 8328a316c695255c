import { formatMs, ns, share } from '../../base/units.js';
import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import { about, elsewhere, use } from '../../remedies/remedies.js';
import type { Plan } from '../../replay/plan.js';
import type { KernelTotal } from '../../traces/detail/kernel-table.js';
import { atKernel, percentOfStep, shortened, silentBelow, timeEvidence } from '../kit/evidence.js';
import { isFusable, outsideUnfusedAttention } from '../kit/fusable.js';
import { capabilitiesOf, is32Bit, isNarrow, speedUpMatrixWork } from '../kit/matrix-rates.js';
import { priceOf } from '../kit/price.js';
import {
  found,
  type Level,
  type Levels,
  silent,
  type TraceRule,
  threshold,
  WITHIN_NOISE,
} from '../kit/rule.js';
import { editWork, isMatrixWork, topKernel, type WorkTest, workTime } from '../kit/work.js';

const WIDE = threshold('fp32 and TF32 matrix work', share(0.1), 'of the step', WITHIN_NOISE);
/** With more 16-bit matrix work than this, against 32-bit, the model is already in 16 bit. */
const MOSTLY_NARROW = 2;
/** Fused attention in fp32 against 16 bit: different kernels altogether (zoo: 8.3–8.6). */
const ATTENTION: Levels = { low: 4, likely: 8, high: 10 };

const isWideProduct = (k: KernelTotal) => isMatrixWork(k) && is32Bit(k);
const isWideAttention = (k: KernelTotal) => k.class === 'attention' && is32Bit(k);

export const rule: TraceRule = {
  reads: 'traces',
  unpriced: 'allowed',
  info: {
    id: 'not-sixteen-bit',
    alias: 'T13',
    title: 'Matrix work runs in fp32 or TF32',
    needs: 'trace',
    looksFor: 'GEMM, convolution and attention time in fp32 or TF32 on a device with bf16 tensor cores.',
    why: '16-bit tensor cores are at least twice as fast as TF32 and move half the bytes. bf16 has the range of fp32 and needs no loss scaling. Autocast adds casts, mostly around norms; the predicted gain includes their cost.',
    more: elsewhere('bf16-autocast'),
    ...about('bf16-autocast'),
    thresholds: [WIDE],
  },
  check(view) {
    const { device } = view.facts;
    const has = capabilitiesOf(view);
    const to = has?.hasBf16 ? 'bf16' : has?.hasTensorCores ? 'fp16' : null;
    if (to === null && has?.hasTensorCores === false)
      return silent(`${device!.name} has no 16-bit tensor cores`);
    const counts = outsideUnfusedAttention(view, isWideProduct);
    const products = workTime(view, counts).ns;
    const wide = ns(products + workTime(view, isWideAttention).ns);
    const small = silentBelow(view, wide, WIDE, 'fp32 and TF32 matrix work is');
    if (small) return small;
    const narrow = workTime(view, (k) => isMatrixWork(k) && isNarrow(k)).ns;
    if (narrow > MOSTLY_NARROW * wide) return silent('most matrix work is already in 16 bit');
    const top = topKernel(view, (k) => isWideProduct(k) || isWideAttention(k))!;
    const text = `fp32/TF32 matrix work: ${formatMs(wide)} per step (${percentOfStep(view, wide)}), in 16 bit: ${formatMs(narrow)}; longest: ${shortened(top.name)}`;
    return found({
      id: 'not-sixteen-bit',
      title: `matrix work runs in ${products > 0 && top.precision === 'tf32' ? 'TF32' : 'fp32'}, not in ${to ?? '16 bit'}`,
      confidence: to ? 0.93 : 0.5,
      addresses: 'gpu',
      evidence: [atKernel(top, timeEvidence(view, wide, text))],
      price:
        to !== null && view.rates?.tflops[to] !== undefined
          ? priceOf(view, (plan, level) => {
              speedUpMatrixWork(view, plan, level, to, counts);
              editWork(view, plan, isWideAttention, (piece) => piece.ns / ATTENTION[level]);
              addCasts(view, plan, level, counts);
            })
          : null,
      remedy: use('bf16-autocast', {
        to: to ?? 'bf16',
        forwardOnly: view.facts.program.task !== 'training',
        ...(to === 'fp16' ? { device: device!.name } : {}),
      }),
    });
  },
};

/**
 * Autocast keeps layer and group norms in fp32 and casts around them. A cast of n values reads and writes 6n bytes. The
 * norm's own pass over the tensor shows how long that takes: it moves 8n bytes in forward, 12n in backward. Layer norms read
 * the residual stream, which stays fp32: only their output is cast. Group norms follow convolutions: cast before and after.
 */
const CASTS: readonly (readonly [name: RegExp, part: number])[] = [
  [/GroupNormBackwardKernelImpl/, 12 / 12],
  [/GroupNormKernelImpl/, 12 / 8],
  [/layer_norm_grad_input|LayerNormBackward/i, 6 / 12],
  [/layer_norm_kernel|LayerNormForward/i, 6 / 8],
];
const CASTS_COST: Levels = { low: 1.3, likely: 1, high: 0.5 };

/** cuDNN's batch norm of NCHW tensors exists in fp32 only. PyTorch's own, for 16 bit, is slower (zoo cnn_fp32: 13.3 → 18.2 ms). */
const isCudnnBatchNorm = (k: KernelTotal) => k.class === 'norm' && is32Bit(k) && /\bbn_[fb]w_/.test(k.name);
const BATCH_NORM: Levels = { low: 1.6, likely: 1.37, high: 1 };

/**
 * Half the bytes where activations stay in 16 bit: where no norm is kept in fp32 (zoo cnn_fp32 and cudnn_benchmark_on:
 * elementwise 0.51 and 0.64, transposes 0.83 and 0.88).
 */
const NARROW_ELEMENTWISE: Levels = { low: 0.8, likely: 0.6, high: 0.5 };
const NARROW_LAYOUT: Levels = { low: 1, likely: 0.85, high: 0.8 };

/** Casts that a product adds on the host, of input, weight and bias, and of their gradients (zoo: 2.5–5.6 for each forward product). */
const HOST_OF_CASTS_NS = 25_000;

const castsOf = (k: KernelTotal): number =>
  k.class === 'norm' && is32Bit(k) ? (CASTS.find(([name]) => name.test(k.name.slice(0, 400)))?.[1] ?? 0) : 0;

function addCasts(view: TraceView, plan: Plan, level: Level, isProduct: WorkTest): void {
  editWork(
    view,
    plan,
    (k) => castsOf(k) > 0,
    ({ kernel, ns }) => ns * (1 + castsOf(kernel) * CASTS_COST[level]),
  );
  editWork(view, plan, isCudnnBatchNorm, ({ ns }) => ns * BATCH_NORM[level]);
  if (workTime(view, (k) => castsOf(k) > 0).count === 0) {
    const narrow = (kind: string, left: Levels) =>
      editWork(
        view,
        plan,
        (k, roles) => k.class === kind && isFusable(k, roles),
        ({ ns }) => ns * left[level],
      );
    narrow('elementwise', NARROW_ELEMENTWISE);
    narrow('layout', NARROW_LAYOUT);
  }
  const { nodes, works } = plan;
  for (let n = 0; n < nodes.length; n++) {
    const w = nodes.firstWork[n]!;
    if (nodes.workCount[n] === 1 && isProduct(view.facts.kernels[works.kernel[w]!]!, works.roles[w]!))
      nodes.hostWork[n]! += HOST_OF_CASTS_NS * CASTS_COST[level];
  }
}
