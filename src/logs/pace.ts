import { smallest } from '../base/statistics.js';
import { sumOfClasses, TIME_CLASSES, type TimeByClass, type TimeClass, totals } from '../facts/time-class.js';

/** Recorded and other steps may differ by this factor. Beyond it, some work happens only in the ones or the others. */
export const SAME_PACE = 1.1;

/** ns per step. */
interface Pace {
  readonly mean: number;
  readonly median: number;
}

/** From one recorded step to the next, with the unrecorded steps between them. NaN: no such gap. */
export interface GapPeriods extends Pace {
  /** How many steps they cover. */
  readonly steps: number;
  /** ns per step of each, in order. */
  readonly each: readonly number[];
}

/** Steps that gaps must cover to say how long a step takes, where consecutive steps were timed as well. */
export const ENOUGH_IN_GAPS = 10;

/** ns of the usual step: without rare pauses, which the mean holds; the mean where gaps differ in length. */
export const usualPeriod = ({ mean, median }: Pace) => Math.min(mean, median);

export type PaceBias = 'recorded-slower' | 'others-slower';

/**
 * With one step in ten recorded, what a job does every ten steps (a log, a checkpoint) happens in all recorded steps or in
 * none. All time passes between the starts of recorded steps, so that shows. Recorded steps cannot be longer than the mean
 * without a reason. They can be shorter: a rare pause (an evaluation) makes only the mean long.
 */
export function biasOf(recorded: number, gaps: Pace): PaceBias | null {
  if (recorded > SAME_PACE * gaps.mean) return 'recorded-slower';
  return usualPeriod(gaps) > SAME_PACE * recorded ? 'others-slower' : null;
}

/** Whether steps are recorded at a fixed stride: then what happens at the same stride may be in all of them. */
export function areRegular(steps: readonly number[]): boolean {
  const distances = steps.slice(1).map((step, i) => step - steps[i]!);
  const least = smallest(distances);
  return least > 1 && Number.isFinite(least) && distances.every((d) => d % least === 0);
}

/**
 * The classes of a recorded step scaled to a step of the run. What recorded steps have more comes off the idle and
 * communication classes, the largest first, then off computing and copies. What they have less is unexplained if they are
 * steps of one kind, chosen at a fixed stride (`regular`). Else the job has become slower, in all it does.
 */
export function atPace(time: TimeByClass, step: number, regular: boolean): TimeByClass {
  const paced = { ...time } as Record<TimeClass, number>;
  const recorded = sumOfClasses(time);
  let excess = recorded - step;
  if (excess < 0 && !regular) return totals((c) => (paced[c] * step) / recorded);
  if (excess < 0) paced.idle_other -= excess;
  const pauses = TIME_CLASSES.filter((c) => c !== 'compute' && c !== 'copy');
  const largestFirst = [...pauses.toSorted((a, b) => time[b] - time[a]), 'compute', 'copy'] as const;
  for (const c of largestFirst) {
    if (excess <= 0) break;
    const taken = Math.min(excess, paced[c]);
    paced[c] -= taken;
    excess -= taken;
  }
  return totals((c) => paced[c]);
}
