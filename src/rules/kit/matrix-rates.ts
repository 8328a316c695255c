import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import { type Capabilities, capabilities, REACHED } from '../../facts/device-rates.js';
import type { Plan } from '../../replay/plan.js';
import type { KernelTotal } from '../../traces/detail/kernel-table.js';
import type { Level, Levels } from './rule.js';
import { editWork, type WorkTest } from './work.js';

export type MatrixPrecision = keyof typeof REACHED;

/** How much better or worse than in the zoo a model's shapes may do. */
const SPREAD: Levels = { low: 0.6, likely: 1, high: 1.25 };

/**
 * Convolutions gain less from 16 bit than products do: with few channels, memory sets the pace. TF32 to bf16 in the zoo: 2.3
 * times in cnn_fp32, 1.37 in the 3-D convolutions of cudnn_benchmark_on, 2.6 for products. Likely is the geometric mean of
 * the two, as a part of what products gain.
 */
const CONVOLUTIONS: Levels = { low: 0.5, likely: 0.68, high: 0.9 };

/** Shorter kernels are all launch and ramp: no type makes them faster. */
export const SHORTEST_NS = 4_000;

/** What the device can compute in; null where the trace does not name it. */
export function capabilitiesOf({ facts: { device } }: TraceView): Capabilities | null {
  return device ? capabilities(device.name, device.computeMajor, device.computeMinor) : null;
}

export const is32Bit = (k: KernelTotal): boolean => k.precision === 'fp32' || k.precision === 'tf32';
export const isDouble = (k: KernelTotal): boolean => k.precision === 'fp64';
/** 16 bit, 8 bit or narrower, or cuDNN's attention, whose names do not show it. */
export const isNarrow = (k: KernelTotal): boolean => !is32Bit(k) && !isDouble(k);

/**
 * fp64 for each fp32 operation of devices without units of their own for it, whose data sheets state no rate: results per
 * clock and multiprocessor in the CUDA programming guide, by compute capability.
 */
const DOUBLES_PER_FLOAT: Readonly<Record<string, number>> = {
  '7.5': 2 / 64,
  '8.6': 2 / 128,
  '8.9': 2 / 128,
  '12.0': 2 / 128,
};

/** The device's rate in TFLOP/s. */
function rateOf({ rates, facts: { device } }: TraceView, type: MatrixPrecision): number | undefined {
  const stated = rates?.tflops[type];
  if (stated !== undefined || type !== 'fp64') return stated;
  const part = DOUBLES_PER_FLOAT[`${device?.computeMajor}.${device?.computeMinor}`];
  return part && rates?.tflops.fp32 && part * rates.tflops.fp32;
}

/** How many times faster matrix work runs in another type; null when the device's rates are not known. */
export function rateRatio(
  view: TraceView,
  from: MatrixPrecision,
  to: MatrixPrecision,
  level: Level,
): number | null {
  const [a, b] = [rateOf(view, from), rateOf(view, to)];
  if (!a || !b) return null;
  return Math.max(1, ((b * REACHED[to]) / (a * REACHED[from])) * SPREAD[level]);
}

/** The same for convolutions in 16 bit. */
function convolutionRatio(
  view: TraceView,
  from: MatrixPrecision,
  to: MatrixPrecision,
  level: Level,
): number | null {
  const products = rateRatio(view, from, to, 'likely');
  return products && Math.max(1, products * CONVOLUTIONS[level]);
}

/** Runs the matrix work of 32 or 64 bit that passes at the rate of another type. */
export function speedUpMatrixWork(
  view: TraceView,
  plan: Plan,
  level: Level,
  to: MatrixPrecision,
  test: WorkTest,
): void {
  editWork(view, plan, test, ({ ns, kernel }) => {
    const from = kernel.precision === 'tf32' || kernel.precision === 'fp64' ? kernel.precision : 'fp32';
    const ratioOf = kernel.class === 'conv' && to !== 'tf32' ? convolutionRatio : rateRatio;
    const ratio = ratioOf(view, from, to, level);
    return ratio === null || ns <= SHORTEST_NS ? ns : Math.max(SHORTEST_NS, ns / ratio);
  });
}
