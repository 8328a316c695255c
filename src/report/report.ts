/** Written by `npm run schema` from schemas/report-schema.ts: change that file. */

import type { Verdict } from '../answers/kit/claim.js';
import type { Health } from '../base/check.js';
import type { Problem } from '../base/problem.js';
import type { Ms, Seconds, Share, Us } from '../base/units.js';
import type { TimeClass } from '../facts/time-class.js';
import type { Incident } from '../model/incident.js';
import type { Finding } from '../rules/kit/finding.js';
import type { LateCause, Pattern } from '../run/lateness/late-ranks.js';

/** What `whyslow diagnose --json` prints */
export interface Report {
  readonly schema: 'whyslow/report/1';
  readonly verdict: Verdict;
  /** all of the wall time of one process; null: not recorded */ readonly job: ReportJob | null;
  readonly step: ReportStep;
  /** fractions of the step that add up to 1; all 0 where there are no steps */ readonly time: TimeShares;
  /** in the order to try them */ readonly findings: readonly Finding[];
  /** null: no GPU work was recorded */ readonly hardware: ReportHardware | null;
  /** rules that did not fire, and why */
  readonly silent: readonly {
    readonly rule: string;
    readonly reason: string;
  }[];
  /** lines of the job that hold the host, largest share first; empty if not sampled */
  readonly host_lines: readonly ReportLine[];
  /** every rank; of more than 256 the odd ones, see many_ranks */ readonly ranks: readonly ReportRank[];
  /** null up to 256 ranks, or with --all; otherwise ranks, heat, inputs and collectives.groups list what stands out */
  readonly many_ranks: ReportManyRanks | null;
  readonly stragglers: readonly ReportStraggler[];
  /** lasting changes that `whyslow watch` or `run --watch` found while the run went on */
  readonly incidents: readonly Incident[];
  /** null without --price */ readonly money: ReportMoney | null;
  /** from recorded power; null: it is not known of every rank */ readonly energy: ReportEnergy | null;
  /** how late each rank is in each step; null for a single rank */ readonly heat: ReportHeat | null;
  /** what set the pace, followed through all ranks; null for a single rank */
  readonly critical_path: ReportPath | null;
  /** null: no collectives could be matched */ readonly collectives: ReportCollectives | null;
  /** the run without stragglers; null: it cannot be replayed */ readonly what_if: ReportWhatIf | null;
  /** the runs that the files belong to, oldest first; empty if the files do not say */
  readonly runs: readonly ReportRun[];
  readonly inputs: readonly ReportInput[];
  /** files in searched directories that whyslow does not recognize */ readonly ignored: readonly string[];
  readonly health: Health;
  readonly tool: {
    readonly name: 'whyslow';
    readonly version: string;
  };
}

export interface ReportJob {
  /** from the start of the process to its end, or to the last record */ readonly wall_s: Seconds;
  /** where all of it went, largest first; no time counts twice */
  readonly phases: readonly {
    /** steps, start-up, end (after the last step), checkpoint, evaluation, generation, inference, no_grad, logging, gc, compile, or the job's own name */
    readonly name: string;
    readonly s: Seconds;
    /** of wall_s; the shares add up to 1 */ readonly share: Share;
    /** how often */ readonly count: number;
    /** true: measured in recorded steps and scaled to all steps */ readonly sampled: boolean;
  }[];
}

export interface ReportStep {
  /** step time without the profiler, measured or estimated, including the time between steps; null: no steps were recorded */
  readonly ms: Ms | null;
  /** what ms was measured with */ readonly source: 'events' | 'gpu-timeline' | 'host';
  /** step time as the profiler recorded it; null without a trace */ readonly profiled_ms: Ms | null;
  /** how profiled_ms divides, if that names another bottleneck than the estimate without the profiler, or the estimate is at its limit; else null */
  readonly profiled_time: TimeShares | null;
  /** step times that ms is the mean of, in order: what compare needs; of many steps, means of groups of equal length; if unrecorded steps set the pace, means from one recorded step to the next */
  readonly times_ms: readonly Ms[];
  /** true: ms is an estimate, profiled_ms without the profiler's own cost */ readonly corrected: boolean;
  /** parts of ms with a name: time between training steps (checkpoint, evaluation, logging), and the job's own phases on the host */
  readonly parts: readonly {
    readonly name: string;
    readonly ms: Ms;
    /** it is between training steps, not in them */ readonly between: boolean;
  }[];
  /** what one step is, if it is more than one optimizer step after one backward pass; null: it is not, or unknown */
  readonly iteration: ReportIteration | null;
  /** true: no steps were found, and everything here is about the whole recording */
  readonly whole_window: boolean;
  /** number of steps measured */ readonly count: number;
  readonly first: number | null;
  readonly last: number | null;
}

/** fractions of the step that add up to 1; all 0 where there are no steps */
export interface TimeShares {
  /** GPU computing */ readonly compute: Share;
  /** exposed transfers between ranks */ readonly comms_transfer: Share;
  /** collectives waiting for a late rank */ readonly comms_wait: Share;
  /** exposed copies between host and GPU */ readonly copy: Share;
  /** GPU idle: waiting for the next batch */ readonly idle_data: Share;
  /** GPU idle: the host synchronized with it, then had to catch up */ readonly idle_sync: Share;
  /** GPU idle: something is being compiled */ readonly idle_compile: Share;
  /** GPU idle: the host waits in a collective */ readonly idle_comms: Share;
  /** GPU idle: the host does not launch fast enough */ readonly idle_host: Share;
  /** GPU idle for no recorded reason */ readonly idle_other: Share;
}

export interface ReportIteration {
  /** in one step; the usual number if it varies */ readonly optimizer_steps: number;
  readonly optimizers: number;
  /** 0: not seen */ readonly backward_passes: number;
  /** steps differ in their number of optimizer steps */ readonly varies: boolean;
  /** it has a stretch in which the model is called without gradients */ readonly rollout: boolean;
  readonly text: string;
}

/** how far the step is from what its GPU can do */
export interface ReportHardware {
  /** as the driver names it */ readonly device: string | null;
  /** whose peaks are meant, and their source; null: not in the table */ readonly peaks: string | null;
  /** how far the step is from the hardware: sentences without their full stop */
  readonly text: readonly string[];
  /** arithmetic of products, convolutions and attention at the peak, of the step; null: unknown */
  readonly mfu: Share | null;
  /** how many times faster the same kernels could make the step at the peak, without gaps between them */
  readonly at_most: number | null;
  /** the same at the rates that good kernels reach */ readonly reachable: number | null;
  /** neither a fix nor a kernel promises 5% */ readonly done: boolean;
  /** per step, time in which the device has nothing queued */ readonly gaps_ms: Ms;
  /** of the GPU time, work whose shapes are not known */ readonly unknown: Share;
  /** empty: no shapes were recorded */
  readonly kinds: readonly {
    readonly kind: 'products' | 'convolutions' | 'attention' | 'streaming';
    /** unknown for streaming: elementwise kernels, reductions, copies */ readonly precision: string;
    /** per step */ readonly ms: Ms;
    /** 10¹² operations per second; 0 for streaming */ readonly tflops: number;
    /** least memory traffic, 10⁹ bytes per second */ readonly gbps: number;
    /** above 1 where caches serve the traffic; null: unknown */ readonly of_peak: number | null;
  }[];
  /** the three to look at: what is furthest from its limit; without shapes, what takes most time */
  readonly kernels: readonly {
    readonly text: string;
    readonly operator: string | null;
    readonly kernel: string;
    /** of its inputs, or the grid of its launches; empty: not recorded */ readonly shapes: string;
    /** per step */ readonly ms: Ms;
    /** per step */ readonly calls: number;
    readonly tflops: number | null;
    readonly gbps: number | null;
    /** what paces it at best */ readonly bound: 'compute' | 'memory' | null;
    /** of what the device can do at most for it */ readonly of_limit: number | null;
  }[];
}

export interface ReportLine {
  readonly file: string;
  readonly line: number;
  readonly function: string;
  /** empty if the file could not be read */ readonly source: string;
  /** of the training thread's time, with the libraries that the line calls */ readonly share: Share;
  readonly samples: number;
  /** library functions that ran there, the most frequent first */ readonly calls: readonly string[];
}

export interface ReportRank {
  readonly rank: number;
  readonly host: string | null;
  /** position in the mesh by axis, e.g. dp */ readonly coordinates: Readonly<Record<string, number>> | null;
  readonly step_ms: Ms | null;
  /** fractions of the step that add up to 1; all 0 where there are no steps */ readonly time: TimeShares;
  /** relative to the reference rank; null: not comparable */
  readonly clock: {
    readonly offset_us: Us;
    readonly error_us: Us;
  } | null;
  /** interval unions over GPU work, as HTA defines them: with two or more steps, work whose launch was recorded before the end of the last step; null without GPU work */
  readonly gpu: {
    readonly span_us: Us;
    readonly compute_us: Us;
    readonly non_compute_us: Us;
    readonly idle_us: Us;
    /** part of communication hidden by compute; null: there is none */ readonly comm_overlap: Share | null;
  } | null;
}

export interface ReportManyRanks {
  /** how many were measured */ readonly ranks: number;
  /** how many were read */ readonly files: number;
  /** how many process groups have matched collectives */ readonly groups: number;
  /** for each step of heat: how late the latest rank is that is not listed */
  readonly latest_other_ms: readonly Ms[];
  /** ranks by host and by each axis of the mesh */
  readonly axes: readonly {
    /** host, or an axis of the mesh, e.g. pp */ readonly name: string;
    /** how many different values */ readonly values: number;
    /** those whose ranks are latest, at most 16 */
    readonly latest: readonly {
      readonly value: string;
      readonly ranks: number;
      /** mean over its ranks and the steps of heat */ readonly late_ms: Ms;
      /** fractions of the step that add up to 1; all 0 where there are no steps */ readonly time: TimeShares;
    }[];
  }[];
}

export interface ReportStraggler {
  /** empty for a rotating imbalance */ readonly ranks: readonly number[];
  readonly pattern: Pattern;
  readonly cause: LateCause;
  /** milliseconds per step that the others wait */ readonly cost_ms: Ms;
  /** the most that it may cost, if a log does not show how much of the delay is hidden; else null */
  readonly cost_high_ms: Ms | null;
  readonly confidence: number;
  readonly sentence: string;
}

export interface ReportMoney {
  readonly per_gpu_hour: number;
  /** ranks that were measured: each counts as one GPU */ readonly gpus: number;
  /** all of them, whatever they do */ readonly per_day: number;
  /** the part of per_day that goes to the bottleneck: waiting for data, for other ranks, for the host; null: it is the computing itself, or unknown */
  readonly bottleneck_per_day: number | null;
  /** what each fix saves at the same number of steps, after those listed before it; only those with an estimate */
  readonly findings: readonly {
    readonly id: string;
    readonly per_day: number;
  }[];
}

export interface ReportEnergy {
  /** all GPUs of the measured ranks together, while they are busy */ readonly watts: number;
  readonly kwh_per_day: number;
  readonly joules_per_step: number | null;
}

export interface ReportHeat {
  /** steps that all ranks have */ readonly steps: readonly number[];
  readonly rows: readonly {
    readonly rank: number;
    /** own time minus that of the median rank, per step */ readonly late_ms: readonly Ms[];
  }[];
}

export interface ReportPath {
  /** fractions of the step that add up to 1; all 0 where there are no steps */ readonly by_class: TimeShares;
  /** largest share first; ranks not on the path are left out */
  readonly by_rank: readonly {
    readonly rank: number;
    /** share of the path on this rank */ readonly share: Share;
    readonly mostly: TimeClass;
    /** per step, of that class */ readonly mostly_ms: Ms;
  }[];
  /** changes from one rank to another, per step */ readonly hops: number;
}

export interface ReportCollectives {
  /** collectives found on all captured members */ readonly matched: number;
  readonly unmatched: number;
  /** per step, waiting for a late member */ readonly wait_ms: Ms;
  /** per step, moving data */ readonly transfer_ms: Ms;
  readonly groups: readonly {
    readonly name: string;
    /** members that were captured */ readonly ranks: readonly number[];
    /** number of members; null: not recorded */ readonly size: number | null;
    readonly matched: number;
    /** that the matched collectives belong together */ readonly confidence: number;
    readonly wait_ms: Ms;
    readonly transfer_ms: Ms;
  }[];
}

export interface ReportWhatIf {
  readonly actual_s: Seconds;
  /** the same without stragglers, by replay */ readonly ideal_s: Seconds;
  /** actual_s / ideal_s */ readonly slowdown: number;
  /** share of the slowdown that the slowest few workers explain */ readonly m_w: number | null;
  /** share of the slowdown that the last pipeline stage explains */ readonly m_s: number | null;
  /** from replaying all ranks; empty if the replay does not reproduce the recorded steps */
  readonly cases: readonly {
    /** the change, e.g. without the delay of rank 5 */ readonly text: string;
    /** the ranks concerned; empty: all */ readonly ranks: readonly number[];
    /** milliseconds saved per step */ readonly saving_ms: Ms;
  }[];
}

export interface ReportRun {
  readonly id: string;
  readonly command: string | null;
  /** ISO 8601, UTC */ readonly started: string | null;
  readonly ranks: number;
  /** the report is about this run */ readonly analyzed: boolean;
}

export interface ReportInput {
  readonly path: string;
  /** kineto, events, dmon, … */ readonly kind: string;
  readonly rank: number | null;
  /** as stored */ readonly bytes: number;
  readonly events: number;
  readonly problems: readonly Problem[];
}
