import { largest, median } from '../../base/statistics.js';
import { type Ns, ns } from '../../base/units.js';
import type { StepRange } from '../../facts/step-facts.js';
import { TIME_CLASSES, type TimeByClass, type TimeClass } from '../../facts/time-class.js';
import type { StepWindow } from './step-window.js';

/** One step that took far longer than all the others, for a reason that the recording cannot show to come back. */
export interface OneOffStep {
  readonly index: number;
  readonly ts: number;
  readonly dur: Ns;
  /** Median of the other steps, and how many they are. */
  readonly usual: Ns;
  readonly others: number;
  /** The longest run of steps without it. */
  readonly without: StepRange;
}

/** Of fewer steps, one may be the one in every few. */
const LEAST_STEPS = 6;
const LEAST_LEFT = 3;
const FAR_LONGER = 2;
/** The others differ by no more. */
const ALIKE = 1.5;
/** Waiting for input, compiling and communication have patterns of their own, and more computing is more work. */
const PAUSES: readonly TimeClass[] = ['idle_host', 'idle_sync', 'idle_other'];
const MOST = 0.8;

export function findOneOff({ steps, bounds }: StepWindow, times: readonly TimeByClass[]): OneOffStep | null {
  if (steps.length < LEAST_STEPS) return null;
  const periods = steps.map((_, i) => bounds[i + 1]! - bounds[i]!);
  const dur = largest(periods);
  const at = periods.indexOf(dur);
  const others = periods.toSpliced(at, 1);
  const usual = median(others);
  if (!(dur > FAR_LONGER * usual) || largest(others) > ALIKE * usual) return null;
  const excess = (classes: readonly TimeClass[]) =>
    classes.reduce(
      (sum, c) => sum + Math.max(0, times[at]![c] - median(times.toSpliced(at, 1).map((t) => t[c]))),
      0,
    );
  if (excess(PAUSES) < MOST * excess(TIME_CLASSES)) return null;
  const after = steps.length - 1 - at;
  const [first, last] = after >= at ? [at + 1, steps.length - 1] : [0, at - 1];
  if (last - first + 1 < LEAST_LEFT) return null;
  return {
    index: steps[at]!.index,
    ts: bounds[at]!,
    dur: ns(dur),
    usual: ns(usual),
    others: others.length,
    without: { first: steps[first]!.index, last: steps[last]!.index },
  };
}
