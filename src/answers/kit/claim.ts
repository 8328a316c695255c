import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { Bottleneck, Cause } from '../../facts/causes.js';

/** An answer in words. `sentenceOf` joins them. */
export interface Words {
  /** `Data-bound`, `Probably data-bound`, `Unknown`. */
  readonly label: string;
  /** A clause without a full stop: `the GPU spends 40% of every step waiting for input`. */
  readonly headline: string;
  /** Further sentences, each without its full stop. */
  readonly details: readonly string[];
}

/** A reason to trust a claim less. */
export interface Doubt {
  readonly id: string;
  readonly text: string;
  /** What to record or do to settle it. Null: nothing in particular. */
  readonly settledBy: string | null;
  /** Until this is settled, nothing else matters. */
  readonly comesFirst?: true;
}

/** One explanation of why a job is slow. */
export interface Claim {
  readonly bottleneck: Bottleneck;
  readonly cause: Cause;
  /** 0 to 1: how sure the bottleneck is. */
  readonly confidence: number;
  readonly words: Words;
  /** A close runner-up. */
  readonly second?: Bottleneck | null;
  /** Why the confidence is not higher. */
  readonly doubts?: readonly Doubt[];
  /** What to do next. */
  readonly next?: readonly string[];
  /** The rank that it is taken from. */
  readonly view?: RankView;
}

/** Something to add to the answer, whichever claim is chosen. */
export interface Remark {
  readonly detail: string;
  /** Only claims with this bottleneck get the remark, and it makes them less certain. Null: every claim gets it as it is. */
  readonly qualifies: {
    readonly bottleneck: Bottleneck;
    /** Instead of the claim's own. Null: that stays. */
    readonly cause: Cause | null;
    /** The confidence cannot be higher. */
    readonly atMost: number;
  } | null;
}

/** Looks for one explanation. Null: it is not that, or there is nothing to tell from. */
export type Maker<Seen, Made extends Claim = Claim> = (seen: Seen) => Made | null;

/** The answer, as the report has it. */
export interface Verdict extends Words {
  readonly bottleneck: Bottleneck;
  /** One of facts/causes.ts, or the id of the finding that addresses the bottleneck. */
  readonly cause: string;
  readonly confidence: number;
  /** Label, headline and details, joined. */
  readonly sentence: string;
  /** A close runner-up. */
  readonly second: Bottleneck | null;
  /** What to do next: when the evidence does not decide, what to capture. */
  readonly next: readonly string[];
}

/** What limits a running job, as far as a few seconds from outside show. */
export interface LiveClaim extends Claim {
  readonly evidence: readonly string[];
  /** What to change or look at. */
  readonly advice: string;
  /** Commands to run next, ready to paste. */
  readonly next: readonly string[];
}
