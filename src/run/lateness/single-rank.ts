import { median, robustDeviation } from '../../base/statistics.js';
import type { RankTable } from '../table/build-table.js';
import {
  binomialTail,
  LATE_SHARE,
  LATE_Z,
  type LatenessSpread,
  MAX_CHANCE,
  MOST_STEPS,
  roundConfidence,
  signedRankTail,
} from './lateness.js';

interface SinglePattern {
  readonly pattern: 'persistent' | 'spike' | 'periodic';
  readonly confidence: number;
  /** Indices of the steps in which it is late. */
  readonly steps: readonly number[];
}

/**
 * How rank `r` (an index) is late; null when it is not. In order: it stands out in most steps; it is last in most steps of
 * a noisy run; it is late in a few steps at equal distances; it is late in a few steps, and nobody else comes near.
 */
export function patternOf(table: RankTable, spread: LatenessSpread, r: number): SinglePattern | null {
  const late = lateSteps(table, spread, r);
  const found = standsOut(table, spread, r, late) ?? oftenLast(table, spread, r);
  if (found || late.length === 0) return found;
  const own = spread.lateness[r]!;
  if (late.reduce((sum, s) => sum + own[s]!, 0) < LATE_SHARE * table.recorded) return null;
  if (isPeriodic(late))
    return { pattern: 'periodic', steps: late, confidence: Math.min(0.9, 0.6 + 0.1 * late.length) };
  // With one step in ten recorded, a machine that paused once in one of them would be charged for all: ask for two.
  const least = table.fromLogs && isSampled(table.steps) ? 2 : 1;
  if (late.length < least || late.length >= MOST_STEPS * table.steps.length) return null;
  if (!isAlone(spread.lateness, r, late)) return null;
  return { pattern: isMostlyPeriodic(late) ? 'periodic' : 'spike', steps: late, confidence: 0.75 };
}

/** Indices of the steps in which a rank is later than ranks differ anyway, and by enough to matter. */
function lateSteps(table: RankTable, { lateness, inSteps }: LatenessSpread, r: number): number[] {
  return inSteps.flatMap(({ middle, deviation }, s) => {
    const own = lateness[r]![s]!;
    return (own - middle) / deviation > LATE_Z && own >= LATE_SHARE * table.recorded ? [s] : [];
  });
}

/** Late in most steps, and in the mean over all of them. */
function standsOut(
  table: RankTable,
  { means, ofMeans }: LatenessSpread,
  r: number,
  late: readonly number[],
): SinglePattern | null {
  const steps = table.steps.length;
  const z = (means[r]! - ofMeans.middle) / ofMeans.deviation;
  if (means[r]! < LATE_SHARE * table.recorded || !(z > LATE_Z) || late.length < MOST_STEPS * steps)
    return null;
  const certainty = steps >= 3 ? 1 - chanceOfLast(table, late.length) : 0.75;
  const confidence = Math.min(0.98, certainty * (0.7 + Math.min(0.28, 0.03 * (z - LATE_Z))));
  return { pattern: 'persistent', steps: late, confidence: roundConfidence(confidence) };
}

/** Probability that chance makes some rank last in so many steps (binomial, times the ranks: Holm's first step). */
const chanceOfLast = ({ ranks, steps }: RankTable, times: number) =>
  Math.min(1, ranks.length * binomialTail(steps.length, times, 1 / ranks.length));

/** The median lateness must be this many times its standard error: 2.5 is a one-sided chance of 0.6%. */
const LEAST_ERRORS = 2.5;
/** The standard error of the median of normal values is √(π/2) times that of their mean. */
const MEDIAN_ERROR = 1.2533;

/**
 * Where ranks differ much in every step (shared cores, noisy hosts), no rank stands out in any one. But over many steps a
 * slow rank is last more often than chance allows, and its median lateness is many times its error.
 */
function oftenLast(table: RankTable, { lateness, inSteps }: LatenessSpread, r: number): SinglePattern | null {
  const own = [...lateness[r]!];
  const last = inSteps.flatMap(({ largest }, s) => (own[s]! >= largest ? [s] : []));
  if (last.length < MOST_STEPS * own.length) return null;
  // Of two ranks one is last in half of the steps anyway. By how much says more.
  const chance = table.ranks.length === 2 ? 2 * signedRankTail(own) : chanceOfLast(table, last.length);
  const usual = median(own);
  const error = (MEDIAN_ERROR * robustDeviation(own)) / Math.sqrt(own.length);
  if (chance > MAX_CHANCE || usual < LATE_SHARE * table.recorded || usual < LEAST_ERRORS * error) return null;
  const confidence = Math.min(0.9, (1 - chance) * (0.7 + 0.02 * (usual / error)));
  return { pattern: 'persistent', steps: last, confidence: roundConfidence(confidence) };
}

const isSampled = (steps: readonly number[]) => steps.at(-1)! - steps[0]! >= 2 * steps.length;

/** No other rank may be this part as late as the named one: else the imbalance moves about. Our judgment. */
const NEAR = 0.5;
/** The same for a rank that was late once: on a busy machine some rank is always the latest of all. */
const NEAR_ONCE = 0.25;
/** Another rank may come near once for every so many late steps: a busy machine holds up everybody now and then. */
const EXCUSED_ONCE_IN = 6;

/** Whether no other rank comes near the lateness of this one. */
function isAlone(lateness: readonly Float64Array[], r: number, late: readonly number[]): boolean {
  const near = median(late.map((s) => lateness[r]![s]!)) * (late.length > 1 ? NEAR : NEAR_ONCE);
  const excused = Math.floor(late.length / EXCUSED_ONCE_IN);
  return lateness.every((l, other) => other === r || l.filter((ns) => ns >= near).length <= excused);
}

/** Whether there are three or more late steps, all the same distance of two or more apart. */
function isPeriodic(late: readonly number[]): boolean {
  const distance = late[1]! - late[0]!;
  return late.length >= 3 && distance > 1 && late.every((s, i) => i === 0 || s - late[i - 1]! === distance);
}

/** Share of the late steps that must fit the period, and of the period's steps that must be late: the rest may be noise. */
const FITTING = 0.75;
/** Fewer steps that fit a period fit one by chance. */
const LEAST_FITTING = 4;

/** Whether most of many late steps are the same distance apart. Too weak to call a rank late, enough to name the pattern. */
export function isMostlyPeriodic(late: readonly number[]): boolean {
  const distances = new Set(late.slice(1).map((s, i) => s - late[i]!));
  return [...distances].some((period) => {
    if (period < 2) return false;
    return [...new Set(late.map((s) => s % period))].some((phase) => {
      const fitting = late.filter((s) => s % period === phase);
      const expected = (fitting.at(-1)! - fitting[0]!) / period + 1;
      return fitting.length >= Math.max(LEAST_FITTING, FITTING * late.length, FITTING * expected);
    });
  });
}
