import { largest, mean, median, robustDeviation } from '../../base/statistics.js';
import type { RankTable } from '../table/rank-table.js';

/** How late each rank is, and how far ranks differ anyway. ns. */
export interface LatenessSpread {
  /** By rank and step: own time beyond the median rank's. */
  readonly lateness: readonly Float64Array[];
  /** By step, over the ranks. */
  readonly inSteps: readonly Spread[];
  /** By rank, over the steps. */
  readonly means: readonly number[];
  /** Of these means, over the ranks. */
  readonly ofMeans: Spread;
  /** The smallest deviation that is believed. */
  readonly floor: number;
}

interface Spread {
  readonly middle: number;
  readonly deviation: number;
  readonly largest: number;
}

/** The smallest deviation that is believed, as a share of the median own time: equal ranks would have none, and any would stand out. */
const LEAST_DEVIATION = 0.01;

export function latenessOf({ own, steps }: RankTable): Float64Array[] {
  const usual = steps.map((_, s) => median(own.map((o) => o[s]!)));
  return own.map((o) => o.map((ns, s) => ns - usual[s]!));
}

export function spreadOf(table: RankTable, lateness: readonly Float64Array[]): LatenessSpread {
  const floor = LEAST_DEVIATION * median(table.own.map((o) => mean([...o])));
  const over = (values: readonly number[]): Spread => ({
    middle: median(values),
    deviation: Math.max(robustDeviation(values), floor),
    largest: largest(values),
  });
  const means = lateness.map((l) => mean([...l]));
  const inSteps = table.steps.map((_, s) => over(lateness.map((l) => l[s]!)));
  return { lateness, inSteps, means, ofMeans: over(means), floor };
}
