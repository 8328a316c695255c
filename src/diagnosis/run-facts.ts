import type { CheckResult } from '../base/check.js';
import type { DeviceRates } from '../facts/device-rates.js';
import type { TimeByClass } from '../facts/time-class.js';
import type { Baseline } from '../replay/recording-cost.js';
import type { Bottleneck } from '../rules/kit/finding.js';
import type { LateRanks } from '../run/lateness/late-ranks.js';
import type { GpuState } from '../telemetry/gpu-state.js';
import type { RankFacts } from '../traces/rank-facts.js';

/** What rules look at: every rank that was captured, and what is said of the run as a whole. */
export interface RunFacts {
  readonly ranks: readonly RankView[];
  readonly verdict: { readonly bottleneck: Bottleneck; readonly confidence: number };
  /** What only several ranks together show; null for a single one, or ranks that share no collective. */
  readonly across: AcrossRanks | null;
  /** What telemetry says of the GPU of a rank, by rank; empty without telemetry. */
  readonly gpus: ReadonlyMap<number, GpuState>;
}

export interface AcrossRanks {
  readonly late: readonly LateRanks[];
  /** ns a step, mean over ranks. */
  readonly step: number;
  readonly links: readonly SlowLink[];
  /** ns a step less when computing hides all transfers, from playing all ranks; null: that does not reproduce the step. */
  readonly overlap: number | null;
}

/** A group whose transfers are slow against its siblings of the same kind and size, or against its own best. */
export interface SlowLink {
  readonly group: string;
  readonly ranks: readonly number[];
  readonly hosts: readonly string[];
  readonly kind: string;
  readonly gbps: number;
  readonly usualGbps: number;
  /** ns a step that it takes longer than its siblings. */
  readonly cost: number;
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
  /** What the log that measured it could not tell. */
  readonly notes: readonly CheckResult[];
}
