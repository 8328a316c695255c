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
  /** What to capture next when the evidence does not decide. */
  readonly next: readonly string[];
}
