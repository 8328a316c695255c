import { largest, median, quantile, robustDeviation, smallest } from '../../base/statistics.js';

/** Time on the other clock = t + shift + drift · (t − pivot). ns. */
export interface ClockFit {
  readonly shift: number;
  readonly drift: number;
  readonly pivot: number;
  /** Typical deviation of ends from the fit, larger where few pairs may agree by chance. */
  readonly error: number;
  /** The same without that caution. */
  readonly typical: number;
}

/** No error below 100 ns is believed: ends on one host were measured 0.6–0.8 µs apart. */
const LEAST_ERROR = 100;
/** Traces in whole microseconds are exact to half a microsecond. */
const ROUNDED_ERROR = 500;
/** With fewer pairs than this, the deviation may be small by chance: four fifths of them must be within the error. */
const FEW = 16;
/** With fewer pairs than this, all of them must. */
const VERY_FEW = 8;
const MOST_PAIRS = 0.8;
/** Clocks of servers drift by about 10 ppm: 50 µs in 5 s, more than ends differ. */
const DRIFT_WINDOW = 5e9;
/** Points for the slope: 128 give about 8,000 pairs. */
const SLOPE_POINTS = 128;

/** Collectives of two ranks, with their times on both clocks. */
export interface EndPairs {
  readonly start: number[];
  readonly end: number[];
  readonly otherStart: number[];
  readonly otherEnd: number[];
}

/**
 * Fits a clock to ends that coincide. Pairs that the first fit shows not to be one collective (one side ended before the
 * other began) are left out of the second. Null with fewer than two pairs: a single one says nothing about its error.
 */
export function fitClock(pairs: EndPairs): ClockFit | null {
  const all = [...pairs.end.keys()];
  const first = fitEnds(pairs, all);
  if (!first) return null;
  const possible = all.filter((i) => overlap(pairs, i, first));
  // Where most pairs are impossible the fit itself is wrong, and its error says so.
  if (possible.length === all.length || possible.length < all.length / 2) return first;
  return fitEnds(pairs, possible) ?? first;
}

function overlap(pairs: EndPairs, i: number, { shift, drift, pivot, typical }: ClockFit): boolean {
  const map = (t: number) => t + shift + drift * (t - pivot);
  const latestStart = Math.max(map(pairs.start[i]!), pairs.otherStart[i]!);
  return latestStart <= Math.min(map(pairs.end[i]!), pairs.otherEnd[i]!) + 3 * typical;
}

function fitEnds(pairs: EndPairs, indices: readonly number[]): ClockFit | null {
  if (indices.length < 2) return null;
  const own = indices.map((i) => pairs.end[i]!);
  const differences = indices.map((i) => pairs.otherEnd[i]! - pairs.end[i]!);
  const pivot = median(own);
  const still = fitShift(own, differences, 0, pivot);
  if (largest(own) - smallest(own) <= DRIFT_WINDOW) return still;
  const drifting = fitShift(own, differences, medianSlope(own, differences), pivot);
  return drifting.error < still.error ? drifting : still;
}

function fitShift(
  own: readonly number[],
  differences: readonly number[],
  drift: number,
  pivot: number,
): ClockFit {
  const offsets = differences.map((d, i) => d - drift * (own[i]! - pivot));
  const shift = median(offsets);
  const pairs = offsets.length;
  const least = differences.every((d) => d % 1000 === 0) ? ROUNDED_ERROR : LEAST_ERROR;
  // The median of a few values deviates itself: with 1 + 2 / n the true offset stays within three times the error.
  const typical = Math.max(robustDeviation(offsets) * (1 + 2 / pairs), least);
  const deviations = offsets.map((d) => Math.abs(d - shift));
  const kept = pairs < VERY_FEW ? largest(deviations) : pairs < FEW ? quantile(deviations, MOST_PAIRS) : 0;
  return { shift, drift, pivot, error: Math.max(typical, kept), typical };
}

/** Theil–Sen: the median slope between points, over some of them when there are many. */
function medianSlope(x: readonly number[], y: readonly number[]): number {
  const every = Math.max(1, x.length / SLOPE_POINTS);
  const points: number[] = [];
  for (let i = 0; i < x.length; i += every) points.push(Math.floor(i));
  const slopes = points.flatMap((a, k) =>
    points.slice(k + 1).flatMap((b) => (x[b] === x[a] ? [] : [(y[b]! - y[a]!) / (x[b]! - x[a]!)])),
  );
  return slopes.length === 0 ? 0 : median(slopes);
}
