import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import type { Plan } from '../../replay/plan.js';
import type { KernelTotal } from '../../traces/detail/kernel-table.js';
import { isFusable } from './fusable.js';
import { is32Bit } from './matrix-rates.js';
import type { Level, Levels } from './rule.js';
import { editWork, type WorkTest, workTime } from './work.js';

/** What autocast to 16 bit changes besides the matrix products. */

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

export function addCasts(view: TraceView, plan: Plan, level: Level, isProduct: WorkTest): void {
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
