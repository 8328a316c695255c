import { median } from '../base/statistics.js';
import { type TimeByClass, type TimeClass, totals } from '../facts/time-class.js';
import { type Amounts, meanAmounts, total } from './amounts.js';
import { computeSource } from './divide.js';
import type { Layout } from './layout.js';
import { WAIT_ROLES } from './phases.js';

/** A device does not need so many times the usual for one batch: the phase was open during something else. */
const FAR = 3;
const MIN_STEPS = 5;

export interface Outliers {
  readonly steps: number;
  /** ns a step, over all steps, beyond the usual computing. */
  readonly ns: number;
}

/**
 * Steps that took far longer than most, and not because of a recorded wait: compilation, a checkpoint or a garbage
 * collection look like computing to a phase that is open meanwhile.
 */
export function findOutliers(computing: readonly number[]): Outliers {
  if (computing.length < MIN_STEPS) return { steps: 0, ns: 0 };
  const usual = median(computing);
  // Most steps have none of it: then there is no usual.
  if (usual === 0) return { steps: 0, ns: 0 };
  const far = computing.filter((ns) => ns > FAR * usual);
  return { steps: far.length, ns: far.reduce((sum, ns) => sum + ns - usual, 0) / computing.length };
}

/** ns of each step, from how long phases took. */
export function computingOf(amounts: readonly Amounts[], layout: Layout): number[] {
  const source = computeSource(meanAmounts(amounts));
  if (!source) return [];
  const inside = source.role === 'whole' && layout === 'whole';
  return amounts.map((a) => Math.max(0, a[source.role][source.clock] - (inside ? total(a, WAIT_ROLES) : 0)));
}

/** Nothing says what it was, so it is nobody's. */
export function moveOutliers(time: TimeByClass, { ns }: Outliers): TimeByClass {
  const moved = Math.min(ns, time.compute);
  const change: Partial<Record<TimeClass, number>> = { compute: -moved, idle_other: moved };
  return totals((c) => time[c] + (change[c] ?? 0));
}
