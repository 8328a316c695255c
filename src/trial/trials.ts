/** Written by `npm run schema` from schemas/try-schema.ts: change that file. */

import type { SpeedupInterval } from '../compare/step-times/step-comparison.js';
import type { LossComparison } from '../trial/losses.js';

export interface TryReport {
  readonly schema: 'whyslow/try/1';
  readonly command: readonly string[];
  /** ISO 8601 */ readonly started: string;
  readonly device: string | null;
  readonly torch: string | null;
  /** whose loop trains: plain, transformers, lightning, accelerate, … */ readonly framework: string;
  readonly ranks: number;
  /** the job without any fix; null: it could not be measured */ readonly as_it_is: AsItIs | null;
  readonly trials: readonly Trial[];
  /** the fix or combination to make; null: nothing helped */ readonly best: string | null;
  /** lines to paste for it */ readonly paste: readonly string[];
  /** unified diff of your script with it; null: the places to change are not known */
  readonly patch: string | null;
  /** those of the lines to paste that are not in the patch */ readonly by_hand: readonly string[];
  readonly notes: readonly string[];
  readonly seconds: number;
  /** false: the user or the budget ended it early */ readonly complete: boolean;
}

export interface AsItIs {
  readonly step_ms: number;
  /** peak of tensors on the GPU; null: no GPU */ readonly memory_mb: number | null;
  readonly turns: number;
  readonly steps: number;
}

export interface Trial {
  /** ids of the fixes, joined by " + " */ readonly fix: string;
  readonly fixes: readonly string[];
  readonly title: string;
  /** id of the finding that asked for it */ readonly finding: string | null;
  readonly rule: string | null;
  /** null: no finding prices it */ readonly predicted: SpeedupInterval | null;
  /** the number that the finding advises; null: none */ readonly advised: number | null;
  /** the best number of those tried; null: the fix has none */ readonly value: number | null;
  /** the numbers tried, in order */ readonly searched: readonly SearchedNumber[];
  /** null: not measured; outcome and reason say why */ readonly measured: SpeedupInterval | null;
  readonly step_ms: number | null;
  /** losses of the same steps, with the fix and without */ readonly losses: LossComparison;
  /** peak of tensors on the GPU; null: no GPU */ readonly memory_mb: number | null;
  /** what was changed, e.g. num_workers 0 → 12 */ readonly applied: readonly string[];
  readonly outcome: Outcome;
  readonly reason: string | null;
  /** seconds by which set-up and first step take longer, e.g. to compile */ readonly start_s: number | null;
  /** how often torch.compile broke the graph, by reason */
  readonly graph_breaks: Readonly<Record<string, number>>;
  readonly turns: number;
}

export interface SearchedNumber {
  readonly value: number;
  /** null: not measured; outcome and reason say why */ readonly measured: SpeedupInterval | null;
  readonly step_ms: number | null;
  readonly outcome: Outcome;
  readonly reason: string | null;
}

export type Outcome =
  | 'faster'
  | 'slower'
  | 'same'
  | 'cannot-tell'
  | 'not-applicable'
  | 'crashed'
  | 'timed-out'
  | 'not-tried';
