import type { SpeedupInterval } from '../compare/step-times/step-comparison.js';
import type { LossComparison } from './losses.js';

/** Why a fix has no measured gain, or what the gain means. */
export type Outcome =
  | 'faster'
  | 'slower'
  | 'same'
  | 'cannot-tell'
  | 'not-applicable'
  | 'crashed'
  | 'timed-out'
  | 'not-tried';

/** One fix, or several together. */
export interface Trial {
  /** Ids of the fixes, joined by ` + `. */
  readonly fix: string;
  readonly fixes: readonly string[];
  readonly title: string;
  /** Id and rule of the finding that asked for it. */
  readonly finding: string | null;
  readonly rule: string | null;
  /** Step time before, divided by step time after. Null: no finding prices it. */
  readonly predicted: SpeedupInterval | null;
  readonly measured: SpeedupInterval | null;
  readonly step_ms: number | null;
  readonly losses: LossComparison;
  /** Peak of tensors on the GPU. Null: no GPU. */
  readonly memory_mb: number | null;
  /** What was changed, e.g. `num_workers 0 → 12`. */
  readonly applied: readonly string[];
  readonly outcome: Outcome;
  readonly reason: string | null;
  /** Seconds by which set-up and first step take longer, e.g. to compile. */
  readonly start_s: number | null;
  readonly graph_breaks: Readonly<Record<string, number>>;
  readonly turns: number;
}

/** All of `whyslow try`: what try.json holds. */
export interface TryReport {
  readonly schema: 'whyslow/try/1';
  readonly command: readonly string[];
  readonly started: string;
  readonly device: string | null;
  readonly torch: string | null;
  /** Whose loop trains; `plain` for the job's own. */
  readonly framework: string;
  readonly ranks: number;
  readonly as_it_is: AsItIs | null;
  readonly trials: readonly Trial[];
  /** The fix or combination to make. Null: nothing helped. */
  readonly best: string | null;
  /** Lines to paste for it. */
  readonly paste: readonly string[];
  readonly notes: readonly string[];
  readonly seconds: number;
  /** False: the user or the budget ended it early. */
  readonly complete: boolean;
}

export interface AsItIs {
  readonly step_ms: number;
  readonly memory_mb: number | null;
  readonly turns: number;
  readonly steps: number;
}
