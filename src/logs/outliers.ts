import { median } from '../base/statistics.js';
import { type TimeByClass, totals } from '../facts/time-class.js';
import { type Amounts, meanAmounts, total } from './amounts.js';
import { computeSource } from './divide.js';
import type { Layout } from './layout.js';
import { WAIT_ROLES } from './phases.js';

/** No batch takes the device this many times the usual: the phase was open during something else. */
const FAR = 3;
/** With fewer steps there is no usual step. */
const MIN_STEPS = 5;

export interface Outliers {
  readonly steps: number;
  /** ns per step, over all steps, beyond the usual computing. */
  readonly ns: number;
}

/**
 * Steps that computed far longer than most. Compilation, a checkpoint or a garbage collection look like computing to a phase
 * that is open meanwhile. `computing`: ns of each step.
 */
export function findOutliers(computing: readonly number[]): Outliers {
  const usual = median(computing);
  if (computing.length < MIN_STEPS || usual === 0) return { steps: 0, ns: 0 };
  const far = computing.filter((ns) => ns > FAR * usual);
  return { steps: far.length, ns: far.reduce((sum, ns) => sum + ns - usual, 0) / computing.length };
}

/** ns that each step computed, from how long its phases took. */
export function computingOf(amounts: readonly Amounts[], layout: Layout): number[] {
  const source = computeSource(meanAmounts(amounts));
  if (!source) return [];
  const holdsWaits = source.role === 'whole' && layout === 'whole';
  return amounts.map((a) =>
    Math.max(0, a[source.role][source.clock] - (holdsWaits ? total(a, WAIT_ROLES) : 0)),
  );
}

/** Nothing says what outliers were, so they become unexplained time. */
export function moveOutliers(time: TimeByClass, { ns }: Outliers): TimeByClass {
  const moved = Math.min(ns, time.compute);
  return totals((c) => time[c] + (c === 'compute' ? -moved : c === 'idle_other' ? moved : 0));
}
