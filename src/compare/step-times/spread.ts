import { largest, mean } from '../../base/statistics.js';
import type { Random } from './random.js';
import { DRAWS, type RunDraws } from './run-draws.js';

/**
 * Runs of the same code differ by at least this much, also where two of them agree by chance. 43 GPU-bound loops of the zoo
 * were measured twice, on two leases of the same kind of machine: half of them differ by less, per run.
 */
export const LEAST_SPREAD = 0.0075;

/** The same for a few steps of a job whose steps vary: its host wanders, and a short log does not show how far. */
const OF_SHORT_NOISY = 0.02;
const SHORT = 50;
const NOISY = 0.03;

/**
 * Steps that vary more than this share their machine with others, which come and go. On a machine with 29 processes ready for 2
 * cores, steps of one loop varied by 34 to 64%, and its runs by 48%.
 */
const CONTENDED = 0.15;

/** What runs are taken to differ by where there are too few of them to see it. */
function assumedSpread(runs: readonly Pick<RunDraws, 'steps' | 'noise'>[]): number {
  const least = runs.some((run) => run.steps < SHORT && run.noise > NOISY) ? OF_SHORT_NOISY : LEAST_SPREAD;
  return Math.max(least, largest(runs.map((run) => run.noise)) - CONTENDED);
}

/** Fewer degrees of freedom than this do not show that runs hardly differ. */
const ENOUGH_DF = 2;

/** How much runs of the same code differ, in log, beyond what their steps explain. */
export interface Spread {
  readonly deviation: number;
  /** Of the estimate: infinite where an assumption stands in for it. */
  readonly df: number;
  /** Measured from several runs, and larger than assumed. */
  readonly measured: boolean;
}

/** `squares`: sum of squared deviations of log means that would be 0 if runs did not differ, with their count. */
export function spreadOf(squares: number, df: number, runs: readonly RunDraws[]): Spread {
  const explained = mean(runs.map((run) => run.variance));
  const variance = df > 0 ? squares / df - explained : 0;
  const least = df >= ENOUGH_DF ? LEAST_SPREAD : assumedSpread(runs);
  const measured = variance > least ** 2;
  return measured
    ? { deviation: Math.sqrt(variance), df, measured }
    : { deviation: least, df: Number.POSITIVE_INFINITY, measured };
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
