import { smallest } from '../../base/statistics.js';
import type { RunDraws } from './run-draws.js';
import type { Spread } from './spread.js';
import { SAME_WITHIN } from './step-comparison.js';

/** More steps than this many times the present ones are not worth their time: several runs say more. */
const MAX_FACTOR = 50;
/** How much runs differ cannot be seen in fewer. */
const MIN_RUNS = 3;
/** Of fewer steps, more are needed before anything else: what looks like a drift may pass. */
const FIRST_STEPS = 50;
/** Nobody records more runs than this. */
const MAX_RUNS = 30;

/** A difference of this many standard errors is told from noise nine times out of ten (1.96 for the interval, 1.28 for luck). */
const ERRORS = 3.2;

interface Undecided {
  /** log(before / after). */
  readonly likely: number;
  readonly spread: Spread;
}

/** What to record so that the interval shrinks to the size of the difference, or to a size that does not matter. */
export function moreNeeded(
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
