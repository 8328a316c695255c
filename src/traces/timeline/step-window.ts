import { largest, median } from '../../base/statistics.js';
import type { StepSource } from '../../facts/step-facts.js';
import type { StepTime } from './step-times.js';

/** The steps that figures are over, and the times that divide them. */
export interface StepWindow {
  readonly from: number;
  readonly to: number;
  /** Some steps take far longer than others. */
  readonly irregular: boolean;
  /** The first step counts too. */
  readonly wholeFirst: boolean;
  readonly count: number;
  readonly steps: readonly StepTime[];
  /** One more than steps: where each begins, and where the last ends. */
  readonly bounds: readonly number[];
}

const IRREGULAR = 1.5;

/**
 * From the first frontier to the last: then every step is whole on the device. Where steps differ much (a slow batch
 * every few) or there is only one, the first is needed too, from where it began; and where the step before it is known
 * (`afterAnother`) it is whole anyway.
 */
export function windowOf(
  steps: readonly StepTime[],
  begin: number,
  source: StepSource,
  afterAnother = false,
): StepWindow {
  const frontiers = steps.map((s) => s.frontier);
  // The first period may be long only because the host began with an empty queue: it does not tell.
  const later = frontiers.slice(1).map((f, i) => f - frontiers[i]!);
  const irregular = steps.length === 1 || source === 'window' || largest(later) > IRREGULAR * median(later);
  const wholeFirst = irregular || afterAnother;
  const counted = wholeFirst ? steps : steps.slice(1);
  const bounds = wholeFirst ? [begin, ...frontiers] : frontiers;
  return {
    from: bounds[0]!,
    to: bounds.at(-1)!,
    irregular,
    wholeFirst,
    count: counted.length,
    steps: counted,
    bounds,
  };
}

/** Pieces of GPU work that figures are over, when the steps are alike. */
const ENOUGH_WORKS = 10_000;
const ENOUGH_STEPS = 6;
/** How far the mean of the first steps may be from that of all. */
const ALIKE = 0.05;

/**
 * How many steps, from the first on, speak for all: hundreds of equal steps say no more than a few dozen. Where the
 * first ones differ from all in their mean time, twice as many are asked, up to all.
 */
export function representative(steps: readonly StepTime[]): number {
  const meanOf = (last: number) => (steps[last]!.frontier - steps[0]!.frontier) / last;
  let n = stepsWithin(steps, ENOUGH_WORKS, ENOUGH_STEPS);
  while (n < steps.length && Math.abs(meanOf(n - 1) / meanOf(steps.length - 1) - 1) > ALIKE) n *= 2;
  return Math.min(n, steps.length);
}

/** Pieces of GPU work looked at in detail. */
const DETAIL_WORKS = 4_000;
const DETAIL_STEPS = 3;
const LONG = 50;

/** `total`: whole steps in the trace. Of hundreds fewer are needed, and the time to look at them counts. */
export const detailRange = (steps: readonly StepTime[], total = steps.length) =>
  total >= LONG
    ? stepsWithin(steps, DETAIL_WORKS / 2, DETAIL_STEPS - 1)
    : stepsWithin(steps, DETAIL_WORKS, DETAIL_STEPS);

/** How many steps, from the first on, launch no more than so much work; but at least a few. */
function stepsWithin(steps: readonly StepTime[], works: number, least: number): number {
  let sum = 0;
  for (let i = 0; i < steps.length; i++) {
    sum += steps[i]!.works;
    if (sum > works && i >= least) return i;
  }
  return steps.length;
}
