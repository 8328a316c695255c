import { largest, quantile, smallest } from '../../src/base/statistics.js';

/** Step times of both sides on one scale. */
export interface Histogram {
  /** The ends of the scale, in the unit of the times. */
  readonly from: number;
  readonly to: number;
  /** For each side, the share of its steps in each bin. */
  readonly shares: readonly (readonly number[])[];
  /** For each side, steps that are longer than the scale. */
  readonly beyond: readonly number[];
}

const BINS = 60;
/** A few long steps must not press all others into one bin: the scale ends here, and as far again beyond the middle. */
const USUAL = 0.98;
/** Half the width of the scale where all steps are equal, as a share. */
const NARROWEST = 0.01;
/** Room on both sides of the times, as a share of their range: a mark on the edge of the scale looks cut off. */
const ROOM = 0.05;

/** At least one side has a step. */
export function histogramOf(sides: readonly (readonly number[])[]): Histogram {
  const all = sides.flat();
  const usual = sides
    .filter((side) => side.length > 0)
    .map((side) => [0.5, USUAL].map((q) => quantile(side, q)));
  const end = largest(usual.map(([middle, high]) => high! + (high! - middle!)));
  const [low, high] = [smallest(all), Math.min(largest(all), end)];
  const pad = Math.max(ROOM * (high - low), NARROWEST * high - (high - low) / 2);
  const [from, to] = [Math.max(0, low - pad), high + pad];
  const binOf = (time: number) => Math.min(BINS - 1, Math.floor((BINS * (time - from)) / (to - from)));
  return {
    from,
    to,
    shares: sides.map((side) => {
      const counts = new Array<number>(BINS).fill(0);
      for (const time of side) if (time <= to) counts[binOf(time)]! += 1 / side.length;
      return counts;
    }),
    beyond: sides.map((side) => side.filter((time) => time > to).length),
  };
}
