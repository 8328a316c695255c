import type { Bottleneck } from './bottleneck.js';

/** The answer for the whole run. */
export interface Verdict {
  readonly bottleneck: Bottleneck;
  /** Short id of the cause, e.g. `num-workers-zero`. */
  readonly cause: string;
  readonly confidence: number;
  readonly sentence: string;
  /** A close runner-up. */
  readonly second: Bottleneck | null;
  /** What to do next: when the evidence does not decide, what to capture. */
  readonly next: readonly string[];
}
