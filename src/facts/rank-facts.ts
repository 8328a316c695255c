import type { Ns } from '../base/units.js';
import type { RankCollectives } from './rank-collectives.js';
import type { RankTimeline } from './rank-timeline.js';
import type { StepFacts } from './step-facts.js';
import type { TimeByClass } from './time-class.js';

/**
 * What a trace and an event log both tell about a rank: enough to compare ranks and to give a verdict. Plain data that
 * moves between threads. Times in ns.
 */
export interface RankFacts {
  readonly source: 'trace' | 'log';
  readonly hasGpuWork: boolean;
  readonly steps: StepFacts;
  /** Mean recorded step by class. The classes add up to `steps.recorded`. */
  readonly time: TimeByClass;
  /** The same for each step of `steps.indices`. */
  readonly timePerStep: readonly TimeByClass[];
  /** Exposed copies per step, by direction. */
  readonly copies: CopyTime;
  /** To compare ranks. Null: no communication was recorded. */
  readonly collectives: RankCollectives | null;
  readonly timeline: RankTimeline | null;
  /** Null for a trace, which tells more. */
  readonly phases: PhaseKnowledge | null;
}

export interface CopyTime {
  readonly toDevice: Ns;
  readonly toHost: Ns;
}

/** How much the phases of an event log show. */
export interface PhaseKnowledge {
  /** Phases have start times: the division is exact, and a collective is time in which nothing else ran. */
  readonly placed: boolean;
  /** All times are the host's: a job without a GPU. */
  readonly allHost: boolean;
  /** Phases of the model were recorded. If not, computing is the rest of the step, whatever that was. */
  readonly modelTimed: boolean;
  /** Time per step in which the device had nothing queued and waited for launches. Null: not recorded. */
  readonly hostPaced: Ns | null;
  /** Host time per step of copies that the device timed; close to 0 for asynchronous copies. Null: unknown. */
  readonly copyingHost: Ns | null;
  /** In each step: computing behind which gradients may already have been sent (`logs/gradient-waits.ts`). */
  readonly mayHide?: readonly Ns[];
  /** Source line that makes batches; set when the input time comes from stack samples, null when from phases. */
  readonly inputLine: string | null;
  /** How the loop gets its batches, if it has no DataLoader. */
  readonly inputKind?: InputKind;
}

/**
 * `generator`: code below the loop makes them. Otherwise another thread (`queue`), process (`message`), pool (`future`) or
 * coroutine (`await`) does, and the loop waits for it.
 */
export const INPUT_KINDS = ['generator', 'queue', 'message', 'future', 'await'] as const;
export type InputKind = (typeof INPUT_KINDS)[number];
