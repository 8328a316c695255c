import { largest, median, quantile, smallest } from '../../base/statistics.js';

export interface ClockFit {
  /** Other clock = t + shift + drift · (t − pivot). */
  readonly shift: number;
  readonly drift: number;
  readonly pivot: number;
  readonly error: number;
  /** The error without the caution that few pairs call for. */
  readonly typical: number;
  readonly pairs: number;
}

/** 1.4826 · MAD estimates a standard deviation. */
const MAD_TO_DEVIATION = 1.4826;
/** Ends on one host differ by 0.6–0.8 µs (method 5); below this nothing was ever measured. */
const LEAST_ERROR = 100;
/** Traces in whole microseconds cannot say more than half of one. */
const ROUNDED_ERROR = 500;
/** With fewer ends the median deviation may be small by chance: what most of them keep to is taken if it is larger. */
const FEW = 16;
/** With so few all of them count. */
const VERY_FEW = 8;
const MOST = 0.8;
/** Clocks of servers drift by some 10 ppm: 50 µs in this time, more than ends differ. */
const DRIFT_WINDOW = 5e9;
/** Ends that slopes are taken between: some 8000 pairs. */
const SLOPE_POINTS = 128;

/** Collectives of two ranks, each with times on both clocks. */
export interface EndPairs {
  readonly start: number[];
  readonly end: number[];
  readonly otherStart: number[];
  readonly otherEnd: number[];
}

/**
 * From ends that coincide, on two clocks. Pairs that the first fit shows to be no one collective (one side was done before
 * the other began) are left out of the second. Null with fewer than two: a single end says nothing about its own error.
 */
export function fitClock(pairs: EndPairs): ClockFit | null {
  const all = pairs.end.map((_, i) => i);
  const first = fitEnds(pairs, all);
  if (!first) return null;
  const possible = all.filter((i) => overlap(pairs, i, first));
  // Most must hold: otherwise it is the fit that is wrong, and its error says so.
  if (possible.length === all.length || possible.length < all.length / 2) return first;
  return fitEnds(pairs, possible) ?? first;
}

function overlap(pairs: EndPairs, i: number, { shift, drift, pivot, typical }: ClockFit): boolean {
  const map = (t: number) => t + shift + drift * (t - pivot);
  const latestStart = Math.max(map(pairs.start[i]!), pairs.otherStart[i]!);
  return latestStart <= Math.min(map(pairs.end[i]!), pairs.otherEnd[i]!) + 3 * typical;
}

function fitEnds(pairs: EndPairs, places: readonly number[]): ClockFit | null {
  if (places.length < 2) return null;
  const own = places.map((i) => pairs.end[i]!);
  const differences = places.map((i) => pairs.otherEnd[i]! - pairs.end[i]!);
  const pivot = median(own);
  const still = fitOf(own, differences, 0, pivot);
  if (largest(own) - smallest(own) <= DRIFT_WINDOW) return still;
  const moving = fitOf(own, differences, slopeOf(own, differences), pivot);
  return moving.error < still.error ? moving : still;
}

function fitOf(
  own: readonly number[],
  differences: readonly number[],
  drift: number,
  pivot: number,
): ClockFit {
  const offsets = differences.map((d, i) => d - drift * (own[i]! - pivot));
  const shift = median(offsets);
  const residuals = offsets.map((d) => d - shift);
  const n = residuals.length;
  const rounded = differences.every((d) => d % 1000 === 0) ? ROUNDED_ERROR : LEAST_ERROR;
  // The median of few values deviates itself: with this the true offset stays within three times the error.
  const deviations = residuals.map(Math.abs);
  const typical = Math.max(MAD_TO_DEVIATION * median(deviations) * (1 + 2 / n), rounded);
  const kept = n < VERY_FEW ? largest(deviations) : n < FEW ? quantile(deviations, MOST) : 0;
  return { ...{ shift, drift, pivot, typical, pairs: n }, error: Math.max(typical, kept) };
}

/** Theil–Sen: the median slope, over a part of the points when there are many. */
function slopeOf(x: readonly number[], y: readonly number[]): number {
  const every = Math.max(1, x.length / SLOPE_POINTS);
  const at: number[] = [];
  for (let i = 0; i < x.length; i += every) at.push(Math.floor(i));
  const slopes: number[] = [];
  for (let a = 0; a < at.length; a++) {
    for (let b = a + 1; b < at.length; b++) {
      const dx = x[at[b]!]! - x[at[a]!]!;
      if (dx !== 0) slopes.push((y[at[b]!]! - y[at[a]!]!) / dx);
    }
  }
  return slopes.length === 0 ? 0 : median(slopes);
}
