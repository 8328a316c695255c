import { mean, quantile, smallest } from '../../base/statistics.js';
import { Random } from './random.js';
import { DRAWS, drawRuns, type RunDraws } from './run-draws.js';
import { drawAgain, type Spread, spreadOf } from './spread.js';
import {
  type RunSteps,
  SAME_WITHIN,
  type SideTimes,
  type StepComparison,
  type StepVerdict,
} from './step-comparison.js';

export interface CompareOptions {
  /** Of the interval: 0.95 if not given. */
  readonly level?: number;
  /** How far the times of each side may be off together: standard errors as shares, for times that are estimates. */
  readonly doubt?: readonly [before: number, after: number];
}

export const SEED = 20261116;
export const DEFAULT_LEVEL = 0.95;

/**
 * The step times of two sides, one or more runs each. The interval holds what other steps (those that vary together count
 * as few), a drifting machine and other runs of the same code might have given. The same input gives the same answer.
 */
export function compareStepTimes(
  before: readonly RunSteps[],
  after: readonly RunSteps[],
  { level = DEFAULT_LEVEL, doubt = [0, 0] }: CompareOptions = {},
): StepComparison {
  const random = new Random(SEED);
  // The slower side draws first, so that comparing in the other direction gives the inverse.
  const isFaster = meanOf(before) < meanOf(after);
  const [slow = [], fast = []] = drawRuns(isFaster ? [after, before] : [before, after], random);
  const runs = [...slow, ...fast];
  const spread = spreadOf(squaresOf(slow) + squaresOf(fast), runs.length - 2, runs);
  const [slowDraws, fastDraws] = [slow, fast].map((side) => meanDraws(drawAgain(side, spread, random)));
  const sign = isFaster ? -1 : 1;
  const likely = sign * (logMean(slow) - logMean(fast));
  const error = Math.hypot(doubt[0], doubt[1]);
  const draws = slowDraws!.map((d, i) => likely + sign * (d - fastDraws![i]! + error * random.normal()));
  const [left, right] = isFaster ? [fast, slow] : [slow, fast];
  return conclude({ left, right, likely, draws, spread, level });
}

interface Drawn {
  readonly left: readonly RunDraws[];
  readonly right: readonly RunDraws[];
  /** log(before / after), and how else it might have come out. */
  readonly likely: number;
  readonly draws: Float64Array;
  readonly spread: Spread;
  readonly level: number;
}

export function conclude({ left, right, likely, draws, spread, level }: Drawn): StepComparison {
  const low = within(quantile(draws, (1 - level) / 2));
  const high = within(quantile(draws, (1 + level) / 2));
  const verdict = verdictOf(low, high);
  const needed =
    verdict === 'cannot-tell' ? moreNeeded(left, right, { likely, spread }) : { steps: null, runs: null };
  return {
    before: sideTimes(left),
    after: sideTimes(right),
    speedup: { low: Math.exp(low), likely: Math.exp(likely), high: Math.exp(high) },
    verdict,
    enough: verdict !== 'cannot-tell',
    moreSteps: needed.steps,
    moreRuns: needed.runs,
    spread: spread.measured ? spread.deviation : null,
    assumedSpread: spread.measured ? null : spread.deviation,
    drift: [...left, ...right].reduce((most, run) => Math.max(most, run.drift), 0),
  };
}

/** An interval that reaches further says nothing: the steps have nothing in common. */
const FURTHEST = Math.log(1e20);
const within = (log: number) => Math.max(-FURTHEST, Math.min(FURTHEST, log));

function verdictOf(low: number, high: number): StepVerdict {
  if (low > 0) return 'faster';
  if (high < 0) return 'slower';
  return high < SAME_WITHIN && low > -SAME_WITHIN ? 'same' : 'cannot-tell';
}

/** Runs count alike, however long they are. */
const meanOf = (runs: readonly RunSteps[]): number => mean(runs.map((steps) => mean(steps)));
const logMean = (runs: readonly RunDraws[]): number => mean(runs.map((run) => Math.log(run.mean)));

function squaresOf(runs: readonly RunDraws[]): number {
  const middle = logMean(runs);
  return runs.reduce((sum, run) => sum + (Math.log(run.mean) - middle) ** 2, 0);
}

export function meanDraws(runs: readonly Float64Array[]): Float64Array {
  return Float64Array.from(
    { length: DRAWS },
    (_, i) => runs.reduce((sum, d) => sum + d[i]!, 0) / runs.length,
  );
}

function sideTimes(runs: readonly RunDraws[]): SideTimes {
  const sumOf = (of: (run: RunDraws) => number) => runs.reduce((sum, run) => sum + of(run), 0);
  const steps = sumOf((run) => run.steps);
  return {
    ms: Math.exp(logMean(runs)),
    steps,
    runs: runs.length,
    pauses: sumOf((run) => run.pauses),
    pausedMs: sumOf((run) => run.pausedMs * run.steps) / steps,
  };
}

/** More steps than this many times the present ones are not worth their time: several runs say more. */
const MAX_FACTOR = 50;
/** How much runs differ cannot be seen in fewer. */
const MIN_RUNS = 3;
/** Of fewer steps, more are needed before anything else: what looks like a drift may pass. */
const FIRST_STEPS = 50;
/** Nobody records more runs than this. */
const MAX_RUNS = 30;

/** A difference of this many standard errors is distinguished from noise nine times out of ten (1.96 for the interval, 1.28 for luck). */
const ERRORS = 3.2;

interface Undecided {
  /** log(before / after). */
  readonly likely: number;
  readonly spread: Spread;
}

/** What to record so that the interval shrinks to the size of the difference, or to a size that does not matter. */
function moreNeeded(
  left: readonly RunDraws[],
  right: readonly RunDraws[],
  { likely, spread }: Undecided,
): { readonly steps: number | null; readonly runs: number | null } {
  const sides = [left, right];
  const perSide = (of: (run: RunDraws) => number) =>
    sides.reduce((sum, runs) => sum + runs.reduce((s, run) => s + of(run), 0) / runs.length ** 2, 0);
  const isShort = (run: RunDraws) => run.steps < FIRST_STEPS;
  const ofSteps = perSide((run) => run.variance + (isShort(run) ? run.drift ** 2 : 0));
  const ofRuns = perSide((run) => spread.deviation ** 2 + (isShort(run) ? 0 : run.drift ** 2));
  const wanted = Math.max(Math.abs(likely), SAME_WITHIN);
  const allowed = (wanted / ERRORS) ** 2;
  const factor = ofSteps / (allowed - ofRuns);
  const recorded = smallest(sides.map((runs) => runs.reduce((sum, run) => sum + run.steps, 0)));
  const missing = FIRST_STEPS - recorded;
  if (factor > 0 && factor <= MAX_FACTOR)
    return { steps: twoDigits(Math.max(recorded * (factor - 1), recorded / 10, missing)), runs: null };
  if (missing > 0) return { steps: missing, runs: null };
  const runs = Math.min(left.length, right.length) * ((ofSteps + ofRuns) / allowed);
  return { steps: null, runs: runs > MAX_RUNS ? null : Math.max(MIN_RUNS, Math.ceil(runs)) };
}

function twoDigits(n: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(n)) - 1);
  return Math.ceil(n / unit) * unit;
}
