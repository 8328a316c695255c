import type { DeviceRates } from '../analyses/kernels/device-rates.js';
import type { RankFacts } from '../analyses/rank-facts.js';
import type { Baseline } from '../analyses/replay/recording-cost.js';
import type { TimeByClass } from '../analyses/timeline/accounting.js';
import type { Bottleneck } from './finding.js';

/** What rules look at: every rank that was captured, and what is said of the run as a whole. */
export interface RunFacts {
  readonly ranks: readonly RankView[];
  readonly verdict: { readonly bottleneck: Bottleneck; readonly confidence: number };
}

/** One rank: its facts, and its step without the profiler. */
export interface RankView {
  readonly rank: number;
  readonly facts: RankFacts;
  readonly rates: DeviceRates | null;
  /** Null when the trace cannot be played again. */
  readonly baseline: Baseline | null;
  /** ns a step, as believed without the profiler, and its division. */
  readonly step: number;
  readonly time: TimeByClass;
  /** Exposed copies in it, by direction. */
  readonly copies: { readonly toDevice: number; readonly toHost: number };
  /** Measured without the profiler (events log), not estimated. */
  readonly measuredUnprofiled: boolean;
}
