import { smallest } from '../base/statistics.js';
import { sumOfClasses, TIME_CLASSES, type TimeByClass, type TimeClass, totals } from '../facts/time-class.js';

/** Recorded steps and others may differ by so much before something must happen in the ones and not in the others. */
export const SAME_PACE = 1.1;

/** ns a step, from one recorded step to the next over those that were not recorded; NaN: no such gap. */
export interface GapPeriods {
  readonly mean: number;
  readonly median: number;
}

/** ns a step of most steps: without rare pauses, and where gaps differ in length with what comes now and then. */
export const usualPeriod = ({ mean, median }: GapPeriods) => Math.min(mean, median);

export type PaceBias = 'recorded-slower' | 'others-slower';

/**
 * One step in ten is recorded, and what a job does every ten steps (a log, a checkpoint) happens in all of them or in
 * none. From start to start of recorded steps all time passes, so this can be seen: rare pauses (an evaluation) make the
 * mean long, which says nothing against recorded steps that are shorter; but longer than the mean they cannot be.
 */
export function biasOf(recorded: number, gaps: GapPeriods): PaceBias | null {
  if (recorded > SAME_PACE * gaps.mean) return 'recorded-slower';
  return usualPeriod(gaps) > SAME_PACE * recorded ? 'others-slower' : null;
}

/** Every so many steps one is recorded, always at the same distance: what happens as regularly may be in all of them. */
export function areRegular(steps: readonly number[]): boolean {
  const distances = steps.slice(1).map((step, i) => step - steps[i]!);
  const least = smallest(distances);
  return least > 1 && Number.isFinite(least) && distances.every((d) => d % least === 0);
}

/**
 * A recorded step's classes as a share of a step at the pace of the run. What recorded steps have more than others is
 * taken from what is no computing, the largest first; what others have more has no name.
 */
export function atPace(time: TimeByClass, step: number): TimeByClass {
  const paced = { ...time } as Record<TimeClass, number>;
  let excess = sumOfClasses(time) - step;
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
