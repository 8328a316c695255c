import { mean, median } from '../base/statistics.js';

/** Relative. What fp32 sums in another order differ by after some dozen steps; TF32 and bf16 differ by more. */
const ROUNDING = 1e-4;
/** With random input the job differs from itself. A fix may differ by so much more before it is the fix. */
const AS_ITSELF = 2;

export type Losses = readonly (number | string | null)[];

export interface LossComparison {
  /** `as-between-runs`: turns of the job as it is differ from each other by as much. `unknown`: no loss was seen. */
  readonly verdict: 'identical' | 'rounding' | 'differs' | 'as-between-runs' | 'unknown';
  /** Mean relative difference of the same steps. Null: unknown. */
  readonly difference: number | null;
  readonly steps: number;
  /** The first so many steps have the very same losses. */
  readonly same: number;
}

/** Losses of the same steps with a fix against the job as it is. `others`: further turns as it is. */
export function compareLosses(asItIs: Losses, fixed: Losses, others: readonly Losses[]): LossComparison {
  const steps = Math.min(asItIs.length, fixed.length);
  const known = steps > 0 && asItIs.slice(0, steps).some((loss) => loss !== null);
  if (!known || fixed.slice(0, steps).every((loss) => loss === null))
    return { verdict: 'unknown', difference: null, steps: 0, same: 0 };
  const first = asItIs.slice(0, steps).findIndex((loss, i) => loss !== fixed[i]);
  const same = first < 0 ? steps : first;
  if (same === steps) return { verdict: 'identical', difference: 0, steps, same };
  const difference = differenceOf(asItIs, fixed);
  if (difference <= ROUNDING) return { verdict: 'rounding', difference, steps, same };
  const itself = others.length === 0 ? 0 : median(others.map((other) => differenceOf(asItIs, other)));
  return {
    verdict: difference <= AS_ITSELF * itself ? 'as-between-runs' : 'differs',
    difference,
    steps,
    same,
  };
}

/** Infinite where one of them is not a number any more. */
function differenceOf(a: Losses, b: Losses): number {
  const steps = Math.min(a.length, b.length);
  const pairs = Array.from({ length: steps }, (_, i) => [a[i], b[i]] as const);
  if (pairs.some(([x, y]) => typeof x !== typeof y)) return Number.POSITIVE_INFINITY;
  const numbers = pairs.filter((pair): pair is readonly [number, number] => typeof pair[0] === 'number');
  const size = mean(numbers.map(([x]) => Math.abs(x)));
  return mean(numbers.map(([x, y]) => Math.abs(x - y))) / (size || 1);
}
