import type { Ms, Share } from '../base/units.js';
import type { TimeClass } from '../facts/time-class.js';
import type { Finding, Speedup } from '../rules/kit/finding.js';
import type { SpeedupInterval, StepVerdict } from './step-times/step-comparison.js';

/** What `whyslow compare` found; `--json` prints it. Times are per step, means over the runs of a side. */
export interface CompareReport {
  readonly schema: 'whyslow/compare/1';
  readonly verdict: StepVerdict;
  /** The answer for a person. */
  readonly sentence: string;
  readonly step: ComparedStep;
  readonly time: readonly { readonly class: TimeClass; readonly before_ms: Ms; readonly after_ms: Ms }[];
  /** Phases of event logs, and what lies between steps. Null: the side does not have it. */
  readonly phases: readonly ChangedTime[];
  /** Largest change first; only what matters to the step. */
  readonly kernels: readonly ChangedWork[];
  /** Host calls by their own time under the profiler. */
  readonly operators: readonly ChangedWork[];
  /** Ranks that both sides have. Empty: a single rank. */
  readonly ranks: readonly { readonly rank: number; readonly before_ms: Ms; readonly after_ms: Ms }[];
  /** Lines of the job, by how long they hold the training thread. */
  readonly host_lines: readonly ChangedLine[];
  readonly findings: ComparedFindings;
  /** What each side ran on, as far as it is known. */
  readonly setup: readonly ComparedSetup[];
  readonly notes: readonly string[];
  readonly before: ComparedSide;
  readonly after: ComparedSide;
  /** Null: no history was asked for. */
  readonly history: HistoryAnswer | null;
  readonly tool: { readonly name: 'whyslow'; readonly version: string };
}

/** The first run of a history: there is nothing to compare with. */
export interface FirstRunReport {
  readonly schema: 'whyslow/compare/1';
  readonly verdict: 'cannot-tell';
  readonly sentence: string;
  readonly step: null;
  readonly history: HistoryAnswer;
  readonly notes: readonly string[];
}

export interface ComparedStep {
  readonly before_ms: Ms;
  readonly after_ms: Ms;
  /** before / after; per sample where `per` says so. */
  readonly speedup: SpeedupInterval;
  readonly level: number;
  /** What the speedup is of: a step, or a sample where the sides have different batch sizes. */
  readonly per: 'step' | 'sample';
  readonly more_steps: number | null;
  readonly more_runs: number | null;
}

/** Values of several runs are joined by commas. Null: not recorded. */
export interface ComparedSetup {
  readonly name: 'device' | 'torch' | 'ranks' | 'batch size' | 'command';
  readonly before: string | null;
  readonly after: string | null;
}

export interface ComparedSide {
  readonly runs: readonly ComparedRun[];
  readonly bottleneck: string;
}

export interface ComparedRun {
  readonly label: string;
  /** Mean step, and the same without rare pauses: what is compared. */
  readonly step_ms: Ms;
  readonly usual_ms: Ms;
  readonly steps: number;
  /** Of each step, in order; of many steps, means of groups. Empty: only the mean is known. */
  readonly times_ms: readonly Ms[];
  /** `measured` without a profiler, or `estimated` from a trace. */
  readonly source: 'measured' | 'estimated';
}

export interface ChangedTime {
  readonly name: string;
  readonly before_ms: Ms | null;
  readonly after_ms: Ms | null;
}

export type WorkChange = 'new' | 'gone' | 'longer' | 'shorter' | 'more-often' | 'less-often' | 'reshaped';

export interface ChangedWork {
  readonly name: string;
  /** Grid of the launches; null: all of them, or none was recorded. */
  readonly shape: string | null;
  readonly change: WorkChange;
  readonly before_ms: Ms;
  readonly after_ms: Ms;
  /** Calls per step. */
  readonly before_count: number;
  readonly after_count: number;
}

export interface ChangedLine extends ChangedTime {
  readonly function: string;
  readonly source: string;
  readonly before_share: Share | null;
  readonly after_share: Share | null;
}

/** Reports of any version may be compared, so any id is possible. */
type NamedFinding = Pick<Finding, 'rule' | 'title' | 'speedup' | 'saving_ms'> & { readonly id: string };

export interface ComparedFindings {
  /** Before only, after only. */
  readonly gone: readonly NamedFinding[];
  readonly new: readonly NamedFinding[];
  /** What fixing those that are gone was to bring, and what the change brought. */
  readonly predicted: readonly {
    readonly rule: string;
    readonly id: string;
    readonly speedup: Speedup;
    /** Null: several findings are gone at once, so nobody knows which brought what. `together` compares them all. */
    readonly measured: number | null;
  }[];
  readonly together: { readonly predicted: number; readonly measured: number } | null;
}

export interface HistoryAnswer {
  /** Runs in the file before this one, and those that it was compared with. */
  readonly runs: number;
  readonly compared: number;
  /** Runs on the same set-up, oldest first, this one last. Of a long history, the end. */
  readonly points: readonly HistoryPoint[];
  /** The last lasting change of the step time. Null: none. */
  readonly change: HistoryChange | null;
}

export interface HistoryPoint {
  readonly label: string;
  /** ISO 8601. Null: this run, or not recorded. */
  readonly time: string | null;
  readonly step_ms: Ms;
  /** Later runs are compared with it. */
  readonly good: boolean;
}

export interface HistoryChange {
  /** The first run after it. */
  readonly at: string;
  readonly time: string | null;
  readonly before_ms: Ms;
  readonly after_ms: Ms;
  /** Runs since, that one included. */
  readonly since: number;
}
