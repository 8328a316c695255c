import { median } from '../base/statistics.js';

/** Compiling, tuning and filling caches take several steps' time; ordinary variation does not. */
const LONG = 3;
/** A wait of this share of the step makes it long. Waits inside training_step count twice here, so a third is enough. */
const DUE_TO_WAIT = 1 / 3;
/** If a later step waits at least this share as long, long waits belong to the run. */
const ALIKE = 0.5;

/** How many of the first steps are warm-up. The two columns are parallel, in ns. */
export function countWarmUp(steps: readonly number[], dataWaits: readonly number[]): number {
  const limit = LONG * median(steps);
  let count = 0;
  while (count < steps.length && steps[count]! > limit) count++;
  const later = dataWaits.slice(count).reduce((a, b) => Math.max(a, b), 0);
  const isBurst = (i: number) => dataWaits[i]! >= DUE_TO_WAIT * steps[i]! && later >= ALIKE * dataWaits[i]!;
  // Input that comes in bursts may begin with one. Without it the mean would be too short.
  while (count > 0 && isBurst(count - 1)) count--;
  return count;
}
