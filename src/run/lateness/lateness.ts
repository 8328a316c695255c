import { largest, mean, median, robustDeviation } from '../../base/statistics.js';
import type { RankTable } from '../table/build-table.js';

/** Thresholds that several ways of being late share. How they were tested: docs/method/late-ranks.md. */

/** Robust z-score above which a rank stands out from the others (Iglewicz and Hoaglin 1993). */
export const LATE_Z = 3.5;
/** The least lateness worth naming, as a share of the step: less is within the noise of real runs. */
export const LATE_SHARE = 0.05;
/** The least cost worth naming, as a share of the step, mean over all steps: a smaller gain nobody would measure. */
const LEAST_COST = 0.02;
/** The same for a rank that was late once, as a share of that step: every machine pauses a little now and then. */
const LEAST_ONCE = 0.4;

/** What a rank that is late in `late` of `all` steps must cost to be named: a share of the step, mean over all steps. */
export const leastCost = (late: number, all: number) => (late > 1 ? LEAST_COST : LEAST_ONCE / all);
/** A rank that is late in at least this share of the steps is late persistently. Our choice: most of the time. */
export const MOST_STEPS = 0.5;
/** A rank is not named where chance explains its being last with more than this probability: the usual 1%. */
export const MAX_CHANCE = 0.01;

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

/** Probability of `k` or more successes in `n` tries that each succeed with probability `p`. */
export function binomialTail(n: number, k: number, p: number): number {
  let sum = 0;
  for (let i = k; i <= n; i++) sum += Math.exp(logChoose(n, i) + i * Math.log(p) + (n - i) * Math.log1p(-p));
  return Math.min(1, sum);
}

/** Logarithm of "n choose k". */
export function logChoose(n: number, k: number): number {
  let sum = 0;
  for (let i = 1; i <= k; i++) sum += Math.log((n - k + i) / i);
  return sum;
}

/** With more values the exact count takes long, and the normal curve is as good. */
const MOST_COUNTED = 40;

/**
 * Wilcoxon's signed-rank test: the probability that values, which chance makes positive or negative alike, are as far above 0
 * as these. Ten clear delays outweigh one step in which it was the other way round by little.
 */
export function signedRankTail(values: readonly number[]): number {
  const sizes = values.filter((v) => v !== 0).toSorted((a, b) => Math.abs(a) - Math.abs(b));
  const n = sizes.length;
  const above = sizes.reduce((sum, v, i) => sum + (v > 0 ? i + 1 : 0), 0);
  const most = (n * (n + 1)) / 2;
  if (n > MOST_COUNTED) {
    const deviation = Math.sqrt((most * (2 * n + 1)) / 12);
    return normalTail((above - 0.5 - most / 2) / deviation);
  }
  // How many of the 2ⁿ signs give each sum of ranks.
  const ways = new Float64Array(most + 1);
  ways[0] = 1;
  for (let rank = 1; rank <= n; rank++)
    for (let sum = most; sum >= rank; sum--) ways[sum]! += ways[sum - rank]!;
  return ways.slice(above).reduce((sum, w) => sum + w, 0) / 2 ** n;
}

/** Probability of a standard normal value above `z` (Abramowitz and Stegun 26.2.17, within 1e-7). */
function normalTail(z: number): number {
  if (z < 0) return 1 - normalTail(-z);
  const t = 1 / (1 + 0.2316419 * z);
  const series =
    t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return (series * Math.exp((-z * z) / 2)) / Math.sqrt(2 * Math.PI);
}

/** A confidence to two decimals. */
export const roundConfidence = (confidence: number) => Math.round(100 * confidence) / 100;
