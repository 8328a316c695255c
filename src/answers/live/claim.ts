import type { Claim } from '../kit/claim.js';

/** What limits a running job, as far as a few seconds from outside show. */
export interface LiveClaim extends Claim {
  readonly evidence: readonly string[];
  /** What to change or look at. */
  readonly advice: string;
  /** Commands to run next, ready to paste. */
  readonly next: readonly string[];
}
