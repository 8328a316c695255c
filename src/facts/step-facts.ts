import type { Ns } from '../base/units.js';
/** What marks the steps. `window`: nothing does, so the whole recording counts as one step. */
export type StepSource = 'profiler' | 'optimizer' | 'dataloader' | 'window';

/** Step numbers, both ends included. Null: open. */
export interface StepRange {
  readonly first: number | null;
  readonly last: number | null;
}

export interface StepFacts {
  readonly source: StepSource;
  /** Whole steps in the recording. */
  readonly total: number;
  /** Steps that the figures are means over, and their first and last number. */
  readonly count: number;
  readonly first: number;
  readonly last: number;
  /** The recording ended inside a step, which was left out. */
  readonly cut: boolean;
  /** Some steps take far longer than others: figures are means, and the first step counts too. */
  readonly irregular: boolean;
  /** Mean step time in ns, as recorded. */
  readonly profiled: Ns;
  /** Duration (ns) and number of each step. */
  readonly periods: readonly Ns[];
  readonly indices: readonly number[];
}
