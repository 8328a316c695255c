import { mean } from '../base/statistics.js';
import { WAIT_ROLES } from './phases.js';
import { type Amounts, meanAmounts, type RankRecords, type RecordedStep, total } from './step-records.js';

/**
 * `whole`: training_step is the iteration and holds the waits (data_wait, host_to_device, training_metrics).
 * `beside`: it is the model's part, and the waits are before and after it, as lmms-engine writes it.
 */
export type Layout = 'whole' | 'beside';

/** Phases may exceed the step that holds them by this factor: each pair of marks has its own error. */
const TOLERANCE = 1.02;

/** `steps` and `amounts` are parallel and have no warm-up. */
export function findLayout(
  records: RankRecords,
  steps: readonly RecordedStep[],
  amounts: readonly Amounts[],
): Layout {
  const mean = meanAmounts(amounts);
  if (total(mean, WAIT_ROLES) === 0) return 'whole';
  // lmms-engine's trainer closes host_to_device before training_step and opens training_metrics after it.
  if (records.bare && total(mean, ['data']) === 0) return 'beside';
  return byStarts(records, steps) ?? bySize(mean) ?? bySlope(records, amounts) ?? 'whole';
}

/** From start times, where they are known. Only phases on the clock of training_step: the device runs behind the host. */
function byStarts(records: RankRecords, steps: readonly RecordedStep[]): Layout | null {
  const whole = records.phases.findIndex((p) => p.role === 'whole');
  if (whole < 0) return null;
  const isWait = records.phases.map(
    ({ role, onHost }) =>
      (WAIT_ROLES as readonly string[]).includes(role) && onHost === records.phases[whole]!.onHost,
  );
  let [inside, outside] = [0, 0];
  for (const { parts } of steps) {
    const wholes = (parts.get(whole) ?? []).filter((p) => !Number.isNaN(p.start));
    if (wholes.length === 0) continue;
    const waits = [...parts].flatMap(([phase, list]) => (isWait[phase] ? list : []));
    for (const { start, ns } of waits) {
      const middle = start + ns / 2;
      if (Number.isNaN(middle)) continue;
      if (wholes.some((w) => middle >= w.start && middle <= w.start + w.ns)) inside++;
      else outside++;
    }
  }
  return inside + outside === 0 ? null : inside >= outside ? 'whole' : 'beside';
}

/** Waits that do not fit into training_step are outside it. */
function bySize(mean: Amounts): Layout | null {
  return total(mean, [...WAIT_ROLES, 'compute']) > TOLERANCE * total(mean, ['whole']) ? 'beside' : null;
}

/** A training_step that holds its waits grows with them: a slope surely below one half says that it does not. */
function bySlope(records: RankRecords, amounts: readonly Amounts[]): Layout | null {
  const isOnHost = (role: string) => records.phases.find((p) => p.role === role)?.onHost;
  if (isOnHost('data') !== isOnHost('whole')) return null;
  const fit = leastSquares(
    amounts.map((a) => total(a, ['data'])),
    amounts.map((a) => total(a, ['whole'])),
  );
  return fit && fit.slope + 2 * fit.error < 0.5 ? 'beside' : null;
}

/**
 * The share of host-timed waits that made steps longer: while the device still has work, the host waits at no cost. The
 * device's step n holds the wait for batch n however far the host is ahead. Null: waits vary too little to tell.
 */
export function exposedShare(waits: readonly number[], steps: readonly number[]): number | null {
  const fit = leastSquares(waits, steps);
  return fit && Math.max(0, Math.min(1, fit.slope));
}

/** Fewer points say nothing. */
const MIN_POINTS = 8;
/** A slope with a larger standard error says nothing. */
const MAX_ERROR = 0.15;
/** The causes must vary by this share of the mean effect, or noise decides. */
const MIN_VARIATION = 0.1;

/** Least-squares slope of `effects` over `causes`, with its standard error. Null: unknown. */
function leastSquares(
  causes: readonly number[],
  effects: readonly number[],
): { slope: number; error: number } | null {
  const n = causes.length;
  if (n < MIN_POINTS) return null;
  const [meanCause, meanEffect] = [mean(causes), mean(effects)];
  let [variance, covariance] = [0, 0];
  for (let i = 0; i < n; i++) {
    variance += (causes[i]! - meanCause) ** 2;
    covariance += (causes[i]! - meanCause) * (effects[i]! - meanEffect);
  }
  if (!(Math.sqrt(variance / n) >= MIN_VARIATION * meanEffect)) return null;
  const slope = covariance / variance;
  const residuals = causes.map((x, i) => effects[i]! - meanEffect - slope * (x - meanCause));
  const error = Math.sqrt(residuals.reduce((sum, r) => sum + r ** 2, 0) / (n - 2) / variance);
  return error <= MAX_ERROR ? { slope, error } : null;
}
