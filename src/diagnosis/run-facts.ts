import type { Ns } from '../base/units.js';
import type { LateRanks } from '../run/lateness/late-ranks.js';
import type { GpuState } from '../telemetry/gpu-state.js';
import type { RankView } from './ranks/rank-view.js';
import type { Bottleneck } from './verdict/bottleneck.js';

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
  readonly step: Ns;
  readonly links: readonly SlowLink[];
  /** ns a step less when computing hides all transfers, from playing all ranks; null: that does not reproduce the step. */
  readonly overlap: Ns | null;
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
  readonly cost: Ns;
}
