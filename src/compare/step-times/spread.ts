import type { Random } from './random.js';
import { DRAWS, type RunDraws } from './run-draws.js';

/**
 * Runs of the same code on the same machine differ at least this much, even where two of them agree by chance.
 */
export const LEAST_SPREAD = 0.005;

/** How much runs of the same code differ, in log, beyond what their steps explain. */
export interface Spread {
  readonly deviation: number;
  /** Of the estimate: infinite where `LEAST_SPREAD` stands in for it. */
  readonly df: number;
  /** Measured from several runs, and larger than assumed. */
  readonly measured: boolean;
}

/** `squares`: sum of squared deviations of log means that would be 0 if runs did not differ, with their count. */
export function spreadOf(squares: number, df: number, runs: readonly RunDraws[]): Spread {
  const known = runs.map((r) => r.variance).filter((v) => !Number.isNaN(v));
  const explained = known.length > 0 ? known.reduce((a, b) => a + b, 0) / known.length : 0;
  const variance = df > 0 ? squares / df - explained : 0;
  const measured = variance > LEAST_SPREAD ** 2;
  return measured
    ? { deviation: Math.sqrt(variance), df, measured }
    : { deviation: LEAST_SPREAD, df: Number.POSITIVE_INFINITY, measured };
}

/** How each run's log mean might have come out in another run: its steps, its drift, and what differs between runs. */
export function drawAgain(
  runs: readonly RunDraws[],
  spread: Spread,
  random: Random,
  drifts = true,
): Float64Array[] {
  const scales = Float64Array.from({ length: DRAWS }, () => random.studentScale(spread.df));
  return runs.map(({ within, drift }) =>
    within.map((deviation, i) => {
      const wander = drifts ? drift * random.normal() : 0;
      return deviation + wander + spread.deviation * scales[i]! * random.normal();
    }),
  );
}
