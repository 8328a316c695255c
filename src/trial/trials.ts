/** Written by `npm run schema` from try-schema.ts: change that file. */

import { mean, median } from '../base/statistics.js';
import type { SpeedupInterval } from '../compare/step-times/step-comparison.js';

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
}

/** Losses of the same steps with a fix against the job as it is. `others`: further turns as it is. */
export function compareLosses(asItIs: Losses, fixed: Losses, others: readonly Losses[]): LossComparison {
  const steps = Math.min(asItIs.length, fixed.length);
  const known = steps > 0 && asItIs.slice(0, steps).some((loss) => loss !== null);
  if (!known || fixed.slice(0, steps).every((loss) => loss === null))
    return { verdict: 'unknown', difference: null, steps: 0 };
  if (asItIs.slice(0, steps).every((loss, i) => loss === fixed[i]))
    return { verdict: 'identical', difference: 0, steps };
  const difference = differenceOf(asItIs, fixed);
  if (difference <= ROUNDING) return { verdict: 'rounding', difference, steps };
  const itself = others.length === 0 ? 0 : median(others.map((other) => differenceOf(asItIs, other)));
  return { verdict: difference <= AS_ITSELF * itself ? 'as-between-runs' : 'differs', difference, steps };
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

export interface TryReport {
  readonly schema: 'whyslow/try/1';
  readonly command: readonly string[];
  /** ISO 8601 */ readonly started: string;
  readonly device: string | null;
  readonly torch: string | null;
  /** whose loop trains: plain, transformers, lightning, accelerate, … */ readonly framework: string;
  readonly ranks: number;
  /** the job without any fix; null: it could not be measured */ readonly as_it_is: AsItIs | null;
  readonly trials: readonly Trial[];
  /** the fix or combination to make; null: nothing helped */ readonly best: string | null;
  /** lines to paste for it */ readonly paste: readonly string[];
  readonly notes: readonly string[];
  readonly seconds: number;
  /** false: the user or the budget ended it early */ readonly complete: boolean;
}

export interface AsItIs {
  readonly step_ms: number;
  /** peak of tensors on the GPU; null: no GPU */ readonly memory_mb: number | null;
  readonly turns: number;
  readonly steps: number;
}

export interface Trial {
  /** ids of the fixes, joined by " + " */ readonly fix: string;
  readonly fixes: readonly string[];
  readonly title: string;
  /** id of the finding that asked for it */ readonly finding: string | null;
  readonly rule: string | null;
  /** null: no finding prices it */ readonly predicted: SpeedupInterval | null;
  /** null: not measured; outcome and reason say why */ readonly measured: SpeedupInterval | null;
  readonly step_ms: number | null;
  /** losses of the same steps, with the fix and without */ readonly losses: LossComparison;
  /** peak of tensors on the GPU; null: no GPU */ readonly memory_mb: number | null;
  /** what was changed, e.g. num_workers 0 → 12 */ readonly applied: readonly string[];
  readonly outcome: Outcome;
  readonly reason: string | null;
  /** seconds by which set-up and first step take longer, e.g. to compile */ readonly start_s: number | null;
  /** how often torch.compile broke the graph, by reason */
  readonly graph_breaks: Readonly<Record<string, number>>;
  readonly turns: number;
}

export type Outcome =
  | 'faster'
  | 'slower'
  | 'same'
  | 'cannot-tell'
  | 'not-applicable'
  | 'crashed'
  | 'timed-out'
  | 'not-tried';
