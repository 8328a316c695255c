import type { Bottleneck } from './bottleneck.js';

/** The answer for the whole run. */
export interface Verdict {
  readonly bottleneck: Bottleneck;
  /** Short id of what causes it. A finding that addresses the bottleneck may name it better. */
  readonly cause: string;
  readonly confidence: number;
  readonly sentence: string;
  /** A close runner-up. Null: the first stands alone. */
  readonly second: Bottleneck | null;
  /** What to capture next when the evidence does not decide. */
  readonly next: readonly string[];
}
