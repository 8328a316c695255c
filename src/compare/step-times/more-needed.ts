import type { RunDraws } from './run-draws.js';
import type { Spread } from './spread.js';
import { SAME_WITHIN } from './step-comparison.js';

/** More steps than this many times the present ones are not worth their time: several runs say more. */
const MAX_FACTOR = 20;
/** How much runs differ cannot be seen in fewer. */
const MIN_RUNS = 3;
/** Where a side has no series of steps at all. */
const FIRST_STEPS = 50;

interface Undecided {
  /** log(before / after). */
  readonly likely: number;
  /** Half of the interval's width, in log. */
  readonly halfWidth: number;
  readonly spread: Spread;
}

/** What to record so that the interval shrinks to the size of the difference, or to a size that does not matter. */
export function moreNeeded(
  left: readonly RunDraws[],
  right: readonly RunDraws[],
  { likely, halfWidth, spread }: Undecided,
): { readonly steps: number | null; readonly runs: number | null } {
  const sides = [left, right];
  if (sides.some((runs) => runs.every((run) => Number.isNaN(run.variance))))
    return { steps: FIRST_STEPS, runs: null };
  const perSide = (of: (run: RunDraws) => number) =>
    sides.reduce((sum, runs) => sum + runs.reduce((s, run) => s + of(run), 0) / runs.length ** 2, 0);
  const ofSteps = perSide((run) => run.variance || 0);
  const ofRuns = perSide((run) => run.drift ** 2 + spread.deviation ** 2);
  const wanted = Math.max(Math.abs(likely), SAME_WITHIN);
  // The interval is this many standard errors wide to each side.
  const errors = halfWidth / Math.sqrt(ofSteps + ofRuns);
  const allowed = (wanted / errors) ** 2;
  const factor = ofSteps / (allowed - ofRuns);
  if (factor > 0 && factor <= MAX_FACTOR) {
    const recorded = Math.max(...sides.map((runs) => runs.reduce((sum, run) => sum + run.steps, 0)));
    return { steps: twoDigits(Math.max(recorded * (factor - 1), recorded / 10)), runs: null };
  }
  const runs = Math.min(left.length, right.length) * ((ofSteps + ofRuns) / allowed);
  return { steps: null, runs: Math.max(MIN_RUNS, Math.ceil(runs)) };
}

function twoDigits(n: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(n)) - 1);
  return Math.ceil(n / unit) * unit;
}
