import { median } from '../base/statistics.js';

/** Compiling, tuning and filling caches cost many steps' time; ordinary variation does not. */
const LONG = 3;
/** The wait makes the step long when it is this part of it (it may have been counted beside the step it is in). */
const DUE_TO_WAIT = 1 / 3;
/** Another step's wait at least this part as long: then long waits belong to the run. */
const ALIKE = 0.5;

/** How many steps from the first on are warm-up. Columns are parallel. */
export function countWarmUp(steps: readonly number[], dataWaits: readonly number[]): number {
  const limit = LONG * median(steps);
  let count = 0;
  while (count < steps.length && steps[count]! > limit) count++;
  const later = dataWaits.slice(count).reduce((a, b) => Math.max(a, b), 0);
  const isBurst = (i: number) => dataWaits[i]! >= DUE_TO_WAIT * steps[i]! && later >= ALIKE * dataWaits[i]!;
  // Input that comes in bursts may begin with one: leaving it out would make the mean too short.
  while (count > 0 && isBurst(count - 1)) count--;
  return count;
}
