/** Written by `npm run schema` from schemas/compare-schema.ts: change that file. */

import type { Ms, Share } from '../base/units.js';
import type { StepVerdict } from '../compare/step-times/step-comparison.js';
import type { TimeClass } from '../facts/time-class.js';
import type { Speedup } from '../rules/kit/finding.js';

export interface CompareReport {
  readonly schema: 'whyslow/compare/1';
  /** faster, slower: the interval excludes no difference; same: it is within 3% */
  readonly verdict: StepVerdict;
  /** the answer for a person */ readonly sentence: string;
  readonly step: ComparedStep;
  /** classes of time, per step */
  readonly time: readonly {
    readonly class: TimeClass;
    readonly before_ms: Ms;
    readonly after_ms: Ms;
  }[];
  /** phases of event logs, and time between steps */ readonly phases: readonly ChangedTime[];
  /** largest change first; only what matters to the step */ readonly kernels: readonly ChangedWork[];
  /** host calls, by their own time under the profiler */ readonly operators: readonly ChangedWork[];
  /** ranks that both sides have; empty: a single rank */
  readonly ranks: readonly {
    readonly rank: number;
    readonly before_ms: Ms;
    readonly after_ms: Ms;
  }[];
  /** lines of the job, by how long they hold the training thread */
  readonly host_lines: readonly ChangedLine[];
  readonly findings: ComparedFindings;
  /** what each side ran on, as far as it is known */ readonly setup: readonly ComparedSetup[];
  /** what else differs between the sides, and what the answer rests on */ readonly notes: readonly string[];
  readonly before: ComparedSide;
  readonly after: ComparedSide;
  /** null: no --history */ readonly history: HistoryAnswer | null;
  readonly tool: {
    readonly name: 'whyslow';
    readonly version: string;
  };
}

export interface ComparedStep {
  /** mean step before, without rare pauses */ readonly before_ms: Ms;
  readonly after_ms: Ms;
  /** time before divided by time after, per step or sample; low and high: the interval */
  readonly speedup: Speedup;
  /** of the interval, e.g. 0.95 */ readonly level: number;
  /** sample: the sides have different batch sizes */ readonly per: 'step' | 'sample';
  /** to record on each side to distinguish this difference from noise; null: more steps do not help */
  readonly more_steps: number | null;
  /** runs needed on each side; null: runs are not what is missing */ readonly more_runs: number | null;
}

export interface ChangedTime {
  readonly name: string;
  /** null: the side does not have it */ readonly before_ms: Ms | null;
  /** null: the side does not have it */ readonly after_ms: Ms | null;
}

export interface ChangedWork {
  readonly name: string;
  /** grid of the launches; null: all of them, or none was recorded */ readonly shape: string | null;
  /** reshaped: on both sides, but with other grids */ readonly change: WorkChange;
  readonly before_ms: Ms;
  readonly after_ms: Ms;
  /** calls per step */ readonly before_count: number;
  readonly after_count: number;
}

/** reshaped: on both sides, but with other grids */
export type WorkChange = 'new' | 'gone' | 'longer' | 'shorter' | 'more-often' | 'less-often' | 'reshaped';

export interface ChangedLine {
  /** file:line, as it is after */ readonly name: string;
  /** null: the side does not have it */ readonly before_ms: Ms | null;
  /** null: the side does not have it */ readonly after_ms: Ms | null;
  readonly function: string;
  readonly source: string;
  /** of the training thread */ readonly before_share: Share | null;
  readonly after_share: Share | null;
}

export interface ComparedFindings {
  /** before only */ readonly gone: readonly NamedFinding[];
  /** after only */ readonly new: readonly NamedFinding[];
  readonly predicted: readonly {
    readonly rule: string;
    readonly id: string;
    /** predicted gain of fixing it */ readonly speedup: Speedup;
    /** measured gain of the change; null: several findings are gone at once, see together */
    readonly measured: number | null;
  }[];
  readonly together: {
    readonly predicted: number;
    readonly measured: number;
  } | null;
}

export interface NamedFinding {
  readonly id: string;
  readonly rule: string;
  readonly title: string;
  readonly speedup: Speedup | null;
  readonly saving_ms: Ms | null;
}

export interface ComparedSetup {
  readonly name: 'device' | 'torch' | 'ranks' | 'batch size' | 'command';
  /** null: not recorded */ readonly before: string | null;
  readonly after: string | null;
}

export interface ComparedSide {
  readonly runs: readonly ComparedRun[];
  readonly bottleneck: string;
}

export interface ComparedRun {
  /** as the user named it */ readonly label: string;
  /** mean step */ readonly step_ms: Ms;
  /** the same without rare pauses: what is compared */ readonly usual_ms: Ms;
  readonly steps: number;
  /** of each step, in order; of many steps, means of groups; empty: only the mean is known */
  readonly times_ms: readonly Ms[];
  /** estimated: from a trace, without the profiler */ readonly source: 'measured' | 'estimated';
}

export interface HistoryAnswer {
  /** in the file before this one */ readonly runs: number;
  /** the last good runs, which this one was compared with */ readonly compared: number;
  /** runs on the same set-up, oldest first, this one last; of a long history, the end */
  readonly points: readonly HistoryPoint[];
  /** the last lasting change of the step time; null: none */ readonly change: HistoryChange | null;
}

export interface HistoryPoint {
  readonly label: string;
  /** ISO 8601; null: this run, or not recorded */ readonly time: string | null;
  readonly step_ms: Ms;
  /** later runs are compared with it */ readonly good: boolean;
}

export interface HistoryChange {
  /** label of the first run after it */ readonly at: string;
  readonly time: string | null;
  readonly before_ms: Ms;
  readonly after_ms: Ms;
  /** runs since, that one included */ readonly since: number;
}

/** the first run of a history: there is nothing to compare with */
export interface FirstRunReport {
  readonly schema: 'whyslow/compare/1';
  readonly verdict: 'cannot-tell';
  /** the answer for a person */ readonly sentence: string;
  readonly step: null;
  readonly history: HistoryAnswer;
  /** what else differs between the sides, and what the answer rests on */ readonly notes: readonly string[];
}
