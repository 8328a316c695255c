import type { Verdict } from '../answers/kit/claim.js';
import type { Health } from '../base/check.js';
import type { Problem } from '../base/problem.js';
import type { Ms, Seconds, Share, Us } from '../base/units.js';
import type { SharesByClass, TimeClass } from '../facts/time-class.js';
import type { Finding } from '../rules/kit/finding.js';
import type { LateCause, Pattern } from '../run/lateness/late-ranks.js';

/**
 * What `whyslow diagnose` found. report-schema.ts describes every field; a test keeps the two equal. These types do not need
 * zod, so that users of the library do not need it either.
 */
export interface Report {
  readonly schema: 'whyslow/report/1';
  readonly verdict: Verdict;
  readonly job: ReportJob | null;
  readonly step: ReportStep;
  readonly time: TimeShares;
  /** In the order to try them. */
  readonly findings: readonly Finding[];
  readonly silent: readonly { readonly rule: string; readonly reason: string }[];
  /** Lines of the job that hold the host, largest share first. Empty: not sampled. */
  readonly host_lines: readonly ReportLine[];
  /** All of them, or the odd ones: see `many_ranks`. */
  readonly ranks: readonly ReportRank[];
  /** Null up to 256 ranks. Otherwise a summary of what the lists leave out. */
  readonly many_ranks: ReportManyRanks | null;
  readonly stragglers: readonly ReportStraggler[];
  readonly heat: ReportHeat | null;
  readonly critical_path: ReportPath | null;
  readonly collectives: ReportCollectives | null;
  readonly what_if: ReportWhatIf | null;
  /** The runs that the files belong to, oldest first. Empty: the files do not say. */
  readonly runs: readonly ReportRun[];
  readonly inputs: readonly ReportInput[];
  readonly ignored: readonly string[];
  readonly health: Health;
  readonly tool: { readonly name: 'whyslow'; readonly version: string };
}

/** How a step divides. The shares add up to 1, or are all 0 without steps. */
export type TimeShares = SharesByClass;

export interface ReportStep {
  readonly ms: Ms | null;
  readonly source: 'events' | 'gpu-timeline' | 'host';
  readonly profiled_ms: Ms | null;
  readonly times_ms: readonly Ms[];
  readonly corrected: boolean;
  readonly parts: readonly { readonly name: string; readonly ms: Ms; readonly between: boolean }[];
  /** Null: one optimizer step after one backward pass, or not known. */
  readonly iteration: ReportIteration | null;
  readonly count: number;
  readonly first: number | null;
  readonly last: number | null;
}

export interface ReportIteration {
  readonly optimizer_steps: number;
  readonly optimizers: number;
  readonly backward_passes: number;
  readonly varies: boolean;
  readonly rollout: boolean;
  readonly text: string;
}

export interface ReportJob {
  readonly wall_s: Seconds;
  readonly phases: readonly {
    readonly name: string;
    readonly s: Seconds;
    readonly share: Share;
    readonly count: number;
    readonly sampled: boolean;
  }[];
}

export interface ReportRank {
  readonly rank: number;
  readonly host: string | null;
  readonly coordinates: Readonly<Record<string, number>> | null;
  readonly step_ms: Ms | null;
  readonly time: TimeShares;
  readonly clock: { readonly offset_us: Us; readonly error_us: Us } | null;
  readonly gpu: {
    readonly span_us: Us;
    readonly compute_us: Us;
    readonly non_compute_us: Us;
    readonly idle_us: Us;
    readonly comm_overlap: Share | null;
  } | null;
}

export interface ReportManyRanks {
  /** How many there are; `ranks`, `heat`, `inputs` and `collectives.groups` list some. */
  readonly ranks: number;
  readonly files: number;
  readonly groups: number;
  /** For each step of `heat`: how late the latest rank is that is not listed. */
  readonly latest_other_ms: readonly Ms[];
  /** By host and by each axis of the mesh. */
  readonly axes: readonly {
    readonly name: string;
    /** How many different values. */
    readonly values: number;
    /** Those whose ranks are latest on average, at most 16. */
    readonly latest: readonly {
      readonly value: string;
      readonly ranks: number;
      readonly late_ms: Ms;
      readonly time: TimeShares;
    }[];
  }[];
}

export interface ReportStraggler {
  readonly ranks: readonly number[];
  readonly pattern: Pattern;
  readonly cause: LateCause;
  readonly cost_ms: Ms;
  readonly cost_high_ms: Ms | null;
  readonly confidence: number;
  readonly sentence: string;
}

export interface ReportHeat {
  readonly steps: readonly number[];
  readonly rows: readonly { readonly rank: number; readonly late_ms: readonly Ms[] }[];
}

export interface ReportPath {
  readonly by_class: TimeShares;
  readonly by_rank: readonly {
    readonly rank: number;
    readonly share: Share;
    readonly mostly: TimeClass;
    readonly mostly_ms: Ms;
  }[];
  readonly hops: number;
}

export interface ReportCollectives {
  readonly matched: number;
  readonly unmatched: number;
  readonly wait_ms: Ms;
  readonly transfer_ms: Ms;
  readonly groups: readonly {
    readonly name: string;
    readonly ranks: readonly number[];
    readonly size: number | null;
    readonly matched: number;
    readonly confidence: number;
    readonly wait_ms: Ms;
    readonly transfer_ms: Ms;
  }[];
}

export interface ReportWhatIf {
  readonly actual_s: Seconds;
  readonly ideal_s: Seconds;
  readonly slowdown: number;
  readonly m_w: number | null;
  readonly m_s: number | null;
  readonly cases: readonly {
    readonly text: string;
    readonly ranks: readonly number[];
    readonly saving_ms: Ms;
  }[];
}

export interface ReportLine {
  readonly file: string;
  readonly line: number;
  readonly function: string;
  readonly source: string;
  /** Of the training thread's time, with the libraries that the line calls. */
  readonly share: Share;
  readonly samples: number;
  readonly calls: readonly string[];
}

export interface ReportRun {
  readonly id: string;
  readonly command: string | null;
  /** ISO 8601, UTC. */
  readonly started: string | null;
  readonly ranks: number;
  /** The report is about this run. */
  readonly analyzed: boolean;
}

export interface ReportInput {
  readonly path: string;
  readonly kind: string;
  /** Null for the manifest of the run and for telemetry. */
  readonly rank: number | null;
  /** As stored. */
  readonly bytes: number;
  readonly events: number;
  readonly problems: readonly Problem[];
}
