export type StepVerdict = 'faster' | 'slower' | 'same' | 'cannot-tell';

/** Differences below this share do not matter to anybody: an interval inside it means that nothing changed. */
export const SAME_WITHIN = 0.03;

/** before / after: above 1 is faster. */
export interface SpeedupInterval {
  readonly low: number;
  readonly likely: number;
  readonly high: number;
}

/** The step times of two sides. */
export interface StepComparison {
  readonly before: SideTimes;
  readonly after: SideTimes;
  readonly speedup: SpeedupInterval;
  readonly verdict: StepVerdict;
  /** The verdict is not `cannot-tell`. */
  readonly enough: boolean;
  /** Steps to record on each side, in addition to the present ones, to distinguish this difference from noise. Null: steps do not help. */
  readonly moreSteps: number | null;
  /** Runs to record on each side, the present ones included. Null: runs are not what is missing. */
  readonly moreRuns: number | null;
  /** How much runs of the same side differ, as a share. Null: each side has one run, or they hardly differ. */
  readonly spread: number | null;
  /** What they are taken to differ by instead. Null: `spread` was measured. */
  readonly assumedSpread: number | null;
  /** The largest drift from start to end of a run, as a share of its mean. 0: none. */
  readonly drift: number;
}

export interface SideTimes {
  /** Mean step without rare pauses. */
  readonly ms: number;
  readonly steps: number;
  readonly runs: number;
  /** Rare steps that took far longer than the others, and what they add to the mean step. */
  readonly pauses: number;
  readonly pausedMs: number;
}

/** Step times of one run in ms, in the order they ran. Steps may be missing between them. */
export type RunSteps = readonly number[];
