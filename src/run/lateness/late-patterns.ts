import { largest, mean, median } from '../../base/statistics.js';
import type { RankTable } from '../table/own-time.js';

/** In what pattern one rank is late. */
export type SingleRankPattern = 'persistent' | 'spike' | 'periodic';

/** Robust z above which a rank stands out (Iglewicz and Hoaglin's 3.5; method 5). */
export const STANDS_OUT = 3.5;
/** Spread is never believed to be smaller than this part of the median: eight equal ranks must give none. */
const LEAST_SPREAD = 0.01;
/** Lateness below this part of the step is not worth a name. */
export const WORTH_NAMING = 0.05;
/** Of the steps: last in at least so many is persistent. */
export const MOSTLY = 0.5;
const MAD_TO_DEVIATION = 1.4826;

/** How ranks differ from each other; asked once for all of them. ns. */
export interface Differences {
  /** By rank and step: beyond the median rank. */
  readonly lateness: readonly Float64Array[];
  /** Of each step: the middle, what counts as a usual deviation, and the most. */
  readonly inSteps: readonly Difference[];
  /** The same of the ranks' means. */
  readonly means: readonly number[];
  readonly ofMeans: Difference;
  /** No spread is believed to be smaller. */
  readonly floor: number;
}
interface Difference {
  readonly middle: number;
  readonly spread: number;
  readonly most: number;
}

export function differencesOf(table: RankTable, lateness: readonly Float64Array[]): Differences {
  const floor = Math.max(LEAST_SPREAD * median(table.own.map((o) => mean([...o]))), 2 * table.clockError);
  const differenceOf = (values: readonly number[]): Difference => {
    const middle = median(values);
    const deviation = MAD_TO_DEVIATION * median(values.map((v) => Math.abs(v - middle)));
    return { middle, spread: Math.max(deviation, floor), most: largest(values) };
  };
  const means = lateness.map((l) => mean([...l]));
  return {
    ...{ lateness, means, ofMeans: differenceOf(means), floor },
    inSteps: table.steps.map((_, s) => differenceOf(lateness.map((l) => l[s]!))),
  };
}

export interface SinglePattern {
  readonly pattern: SingleRankPattern;
  readonly confidence: number;
  /** Places of the steps in which it is late. */
  readonly steps: readonly number[];
}

export function patternOf(table: RankTable, differences: Differences, r: number): SinglePattern | null {
  const { lateness, means, ofMeans } = differences;
  const n = table.steps.length;
  const late = lateIn(table, differences, r);
  if (late.length === 0) return steadilyLast(table, differences, r);
  const z = (means[r]! - ofMeans.middle) / ofMeans.spread;
  const worthIt = means[r]! >= WORTH_NAMING * table.step;
  if (worthIt && z > STANDS_OUT && late.length >= MOSTLY * n) {
    return {
      pattern: 'persistent',
      steps: late,
      confidence: confidenceOf(z, late.length, n, table.ranks.length),
    };
  }
  const steady = steadilyLast(table, differences, r);
  if (steady) return steady;
  const sum = late.reduce((ns, s) => ns + lateness[r]![s]!, 0);
  if (sum < WORTH_NAMING * table.step) return null;
  if (isPeriodic(late))
    return { pattern: 'periodic', steps: late, confidence: Math.min(0.9, 0.6 + 0.1 * late.length) };
  // Late in a few steps by much more than anybody else ever is. Where one step in ten was recorded once is not enough: a
  // machine that took a break in one of them would be charged for all.
  const enough = late.length >= (table.fromLogs && areSampled(table.steps) ? 2 : 1);
  if (enough && late.length < MOSTLY * n && standsAlone(lateness, r, late)) {
    return { pattern: keepsTime(late) ? 'periodic' : 'spike', steps: late, confidence: 0.75 };
  }
  return null;
}

const areSampled = (steps: readonly number[]) => steps.at(-1)! - steps[0]! >= 2 * steps.length;

/** Chance of being last so often by luck, all ranks together. */
export const BY_LUCK = 0.01;
/** And by so many errors of what it is late by. */
const SURELY_ABOVE = 2.5;
/** The error of a median of normal values is so many times that of their mean. */
const MEDIAN_ERROR = 1.2533;

/**
 * Where ranks differ much in every step (shared cores, noisy hosts) none stands out in a single one. Over many steps the
 * same rank is last more often than luck allows, by a median that is many times its error.
 */
function steadilyLast(table: RankTable, { lateness, inSteps }: Differences, r: number): SinglePattern | null {
  const n = table.steps.length;
  const last = inSteps.flatMap(({ most }, s) => (lateness[r]![s]! >= most ? [s] : []));
  if (last.length < MOSTLY * n) return null;
  const luck = table.ranks.length * binomialTail(n, last.length, 1 / table.ranks.length);
  const usual = median(lateness[r]!);
  const deviation = MAD_TO_DEVIATION * median(lateness[r]!.map((ns) => Math.abs(ns - usual)));
  const error = (MEDIAN_ERROR * deviation) / Math.sqrt(n);
  if (luck > BY_LUCK || usual < WORTH_NAMING * table.step || usual < SURELY_ABOVE * error) return null;
  return {
    ...{ pattern: 'persistent', steps: last },
    confidence: Math.round(100 * Math.min(0.9, (1 - luck) * (0.7 + 0.02 * (usual / error)))) / 100,
  };
}

/** Steps in which a rank is late by more than ranks differ anyway, and by enough to matter. */
function lateIn(table: RankTable, { lateness, inSteps }: Differences, r: number): number[] {
  return inSteps.flatMap(({ middle, spread }, s) => {
    const own = lateness[r]![s]!;
    return (own - middle) / spread > STANDS_OUT && own >= WORTH_NAMING * table.step ? [s] : [];
  });
}

/** Nobody else is so late, as a part of what it is: otherwise it is an imbalance that moves about. */
const ALONE = 0.5;
/** But once in so many times that it is: over many steps a busy machine holds up everybody now and then. */
const ONCE_IN = 6;
/** What happened once must stand out more: on a busy machine some rank is the latest of all in some step. */
const ALONE_ONCE = 0.25;

function standsAlone(lateness: readonly Float64Array[], r: number, late: readonly number[]): boolean {
  const most = median(late.map((s) => lateness[r]![s]!)) * (late.length > 1 ? ALONE : ALONE_ONCE);
  const allowed = Math.floor(late.length / ONCE_IN);
  return lateness.every((l, q) => q === r || l.filter((ns) => ns >= most).length <= allowed);
}

/** Three or more late steps, all at equal distances. */
function isPeriodic(late: readonly number[]): boolean {
  const distance = late[1]! - late[0]!;
  return late.length >= 3 && distance > 1 && late.every((s, i) => i === 0 || s - late[i - 1]! === distance);
}

/** Late steps that come when it is time, and times when a step is late: one in four may be noise. */
const IN_TIME = 0.75;
const OFTEN_ENOUGH = 4;

/** Whether most of many late steps come at equal distances. Not enough to name a rank, but to say how it is late. */
export function keepsTime(late: readonly number[]): boolean {
  const distances = new Set(late.slice(1).map((s, i) => s - late[i]!));
  return [...distances].some((period) => {
    if (period < 2) return false;
    return [...new Set(late.map((s) => s % period))].some((phase) => {
      const inTime = late.filter((s) => s % period === phase);
      const times = (inTime.at(-1)! - inTime[0]!) / period + 1;
      return inTime.length >= Math.max(OFTEN_ENOUGH, IN_TIME * late.length, IN_TIME * times);
    });
  });
}

/**
 * Chance that a rank is last so often by luck (binomial), for as many ranks as were looked at (Holm's first step), and
 * how far it stands out.
 */
function confidenceOf(z: number, last: number, steps: number, ranks: number): number {
  const luck = Math.min(1, ranks * binomialTail(steps, last, 1 / ranks));
  const certain = steps >= 3 ? 1 - luck : 0.75;
  return Math.round(100 * Math.min(0.98, certain * (0.7 + Math.min(0.28, 0.03 * (z - STANDS_OUT))))) / 100;
}

/** Probability of `k` or more successes in `n` tries. */
export function binomialTail(n: number, k: number, p: number): number {
  let sum = 0;
  for (let i = k; i <= n; i++) sum += Math.exp(logChoose(n, i) + i * Math.log(p) + (n - i) * Math.log1p(-p));
  return Math.min(1, sum);
}

export function logChoose(n: number, k: number): number {
  let sum = 0;
  for (let i = 1; i <= k; i++) sum += Math.log((n - k + i) / i);
  return sum;
}
