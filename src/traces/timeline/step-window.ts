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
  readonly includesFirst: boolean;
  readonly steps: readonly StepTime[];
  /** Where each step begins, and where the last ends. */
  readonly bounds: readonly number[];
}

/** Longest step over median (docs/method/steps.md). */
const IRREGULAR = 1.5;

/** What is known about the first step besides its time. */
interface FirstStep {
  /** The step before it is known too. */
  readonly followsStep?: boolean;
  /** It waited for input, and the others hardly did. */
  readonly waitedAlone?: boolean;
  /** It communicates with ranks whose recordings may have begun later, and waits for them. */
  readonly isOfRanks?: boolean;
}

/**
 * From the first frontier to the last, so that every step is whole on the device. The first step counts too if steps
 * differ much (a slow batch every few steps), if it is the only one, if the step before it is known, and if the
 * one long wait for input is in it. Among ranks it counts only if there are few others: it also waits for the last profiler to start.
 */
export function windowOf(
  steps: readonly StepTime[],
  begin: number,
  source: StepSource,
  { followsStep = false, waitedAlone = false, isOfRanks = false }: FirstStep = {},
): StepWindow {
  const frontiers = steps.map((s) => s.frontier);
  // Without the first period, which may be long only because the host began with an empty queue.
  const later = frontiers.slice(1).map((f, i) => f - frontiers[i]!);
  const irregular =
    steps.length === 1 || source === 'window' || waitedAlone || largest(later) > IRREGULAR * median(later);
  const spared = isOfRanks && source !== 'window' && !waitedAlone && later.length >= ENOUGH_OTHERS;
  const includesFirst = followsStep || (irregular && !spared);
  const bounds = includesFirst ? [begin, ...frontiers] : frontiers;
  return {
    from: bounds[0]!,
    to: bounds.at(-1)!,
    irregular,
    includesFirst,
    steps: includesFirst ? steps : steps.slice(1),
    bounds,
  };
}

/** Pieces of GPU work that figures are over, where steps are alike. */
const ENOUGH_WORKS = 10_000;
const ENOUGH_STEPS = 6;
/** How far the mean of the first steps may be from the mean of all. */
const ALIKE = 0.05;

/**
 * How many of the first steps represent all: hundreds of equal steps say no more than a few dozen. Where the mean of the
 * first ones differs from the mean of all, twice as many are taken, up to all.
 */
export function representative(steps: readonly StepTime[]): number {
  const meanOf = (last: number) => (steps[last]!.frontier - steps[0]!.frontier) / last;
  let n = stepsWithin(steps, ENOUGH_WORKS, ENOUGH_STEPS);
  while (n < steps.length && Math.abs(meanOf(n - 1) / meanOf(steps.length - 1) - 1) > ALIKE) n *= 2;
  return Math.min(n, steps.length);
}

/** Pieces of GPU work in the detail window. */
const DETAIL_WORKS = 4_000;

/** The first step launched this many times the work of any other: an evaluation was in it. */
const FAR_MORE = 2;
/** Of fewer steps, the first cannot be spared. */
const ENOUGH_OTHERS = 3;

/** Whether the first step did more than the others, and would take most of the detail window. */
export function firstDidMore([first, ...others]: readonly StepTime[]): boolean {
  if (others.length < ENOUGH_OTHERS || first!.works < DETAIL_WORKS / 2) return false;
  return first!.works > FAR_MORE * largest(others.map((s) => s.works));
}

/** Whether the first step takes far longer than the others, or there are no others. */
export function firstIsLonger({
  steps,
  begin,
}: {
  readonly steps: readonly StepTime[];
  readonly begin: number;
}): boolean {
  const later = steps.slice(1).map((s, i) => s.frontier - steps[i]!.frontier);
  return later.length === 0 || steps[0]!.frontier - begin > IRREGULAR * median(later);
}

const DETAIL_STEPS = 3;
const MANY_STEPS = 50;

/** How many of the first steps the detail window holds. Long traces (`total` steps) get half the window, to save time. */
export const detailRange = (steps: readonly StepTime[], total = steps.length) =>
  total >= MANY_STEPS
    ? stepsWithin(steps, DETAIL_WORKS / 2, DETAIL_STEPS - 1)
    : stepsWithin(steps, DETAIL_WORKS, DETAIL_STEPS);

/** How many of the first steps launch at most `works` pieces of work; at least `least`. */
function stepsWithin(steps: readonly StepTime[], works: number, least: number): number {
  let sum = 0;
  for (let i = 0; i < steps.length; i++) {
    sum += steps[i]!.works;
    if (sum > works && i >= least) return i;
  }
  return steps.length;
}
