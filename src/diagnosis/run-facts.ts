import type { Ns } from '../base/units.js';
import type { Bottleneck } from '../facts/causes.js';
import type { CpuUse, LoaderRecord, ProcessCores } from '../model/manifest.js';
import type { LateRanks } from '../run/lateness/late-ranks.js';
import type { GpuState } from '../telemetry/gpu-state.js';
import type { JobWords } from './job-words.js';
import type { HostLine } from './ranks/host-lines.js';
import type { CapturedRank } from './ranks/rank-activity.js';
import type { RankView } from './ranks/rank-view.js';
import type { RunEvidence } from './run-evidence.js';

/** What rules see: every captured rank, and what is known about the run as a whole. */
export interface RunFacts {
  readonly ranks: readonly RankView[];
  readonly verdict: { readonly bottleneck: Bottleneck; readonly confidence: number; readonly cause?: string };
  /** What only several ranks together show. Null: a single rank, or ranks that share no collective. */
  readonly across: AcrossRanks | null;
  /** GPU state from telemetry, by rank. Empty without telemetry. */
  readonly gpus: ReadonlyMap<number, GpuState>;
  /** Lines of the job that hold the host, on the rank that the verdict is taken from. */
  readonly hostLines: readonly HostLine[];
  /** What logs and dumps other than traces show. */
  readonly evidence: RunEvidence;
  /** What capture recorded about each rank's cores, processor time and DataLoader. Empty without manifests. */
  readonly captured: ReadonlyMap<number, CapturedRank>;
  readonly job: JobWords;
}

export type { CapturedRank } from './ranks/rank-activity.js';
export type CapturedLoader = LoaderRecord;
export type CapturedCpu = CpuUse;
export type CapturedCores = ProcessCores;

export interface AcrossRanks {
  readonly late: readonly LateRanks[];
  /** How many steps were compared. */
  readonly steps: number;
  readonly links: readonly SlowLink[];
  /** Time saved per step if computing hid all transfers, by replaying all ranks. Null: the replay does not reproduce the step. */
  readonly overlap: Ns | null;
}

/** A group with slow transfers, compared with groups of the same kind and size or with its own fastest transfers. */
export interface SlowLink {
  readonly group: string;
  readonly ranks: readonly number[];
  readonly hosts: readonly string[];
  readonly kind: string;
  readonly gbps: number;
  readonly usualGbps: number;
  /** Extra time per step. */
  readonly cost: Ns;
}
