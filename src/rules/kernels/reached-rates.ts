import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import type { Plan } from '../../replay/plan.js';
import type { KernelTotal } from '../../traces/detail/kernel-table.js';
import type { Level } from '../kit/rule.js';

export type MatrixPrecision = 'fp32' | 'tf32' | 'bf16' | 'fp16';

/**
 * Part of the vendor's dense peak that matrix products of training reach, from the zoo's transformers on an H200
 * (10.7 TFLOP a step: fp32 51, tf32 304, bf16 778 TFLOP/s). Ratios of two of them carry over to other devices better
 * than either alone.
 */
const REACHED: Readonly<Record<MatrixPrecision, number>> = { fp32: 0.76, tf32: 0.61, bf16: 0.79, fp16: 0.79 };

/** How much better or worse than the zoo's a model's shapes may do. */
const SPREAD: Readonly<Record<Level, number>> = { low: 0.6, likely: 1, high: 1.25 };

/** Shorter kernels are all launch and ramp: no type makes them faster. */
const SHORTEST_NS = 4_000;

/** How many times faster matrix work runs in another type; null when the device's rates are not known. */
export function rateRatio(
  view: TraceView,
  from: MatrixPrecision,
  to: MatrixPrecision,
  level: Level,
): number | null {
  const [a, b] = [view.rates?.tflops[from], view.rates?.tflops[to]];
  if (!a || !b) return null;
  return Math.max(1, ((b * REACHED[to]) / (a * REACHED[from])) * SPREAD[level]);
}

/** Matrix work of a step that runs in `from`, sped up to `to`. */
export function speedUpMatrixWork(
  view: TraceView,
  plan: Plan,
  level: Level,
  to: MatrixPrecision,
  test: (k: KernelTotal, roles: number) => boolean,
): void {
  const { works } = plan;
  for (let w = 0; w < works.length; w++) {
    const kernel = view.facts.kernels[works.kernel[w]!]!;
    const old = works.duration[w]!;
    if (old <= SHORTEST_NS || !test(kernel, works.roles[w]!)) continue;
    const ratio = rateRatio(view, kernel.precision === 'tf32' ? 'tf32' : 'fp32', to, level);
    if (ratio !== null) works.duration[w] = Math.max(SHORTEST_NS, old / ratio);
  }
}
