import type { Ns } from '../base/units.js';
import type { RankCollectives } from './rank-collectives.js';
import type { RankTimeline } from './rank-timeline.js';
import type { StepFacts } from './step-facts.js';
import type { TimeByClass } from './time-class.js';

/**
 * What one rank tells, whether a trace or an event log was read: enough to compare ranks and to give a verdict. Plain data
 * that moves between threads. Times are in ns.
 */
export interface RankFacts {
  readonly source: 'trace' | 'log';
  readonly hasGpuWork: boolean;
  readonly steps: StepFacts;
  /** A step's time by class, as recorded. The classes add up to `steps.profiled`. */
  readonly time: TimeByClass;
  /** The same for each step of `steps.indices`. */
  readonly timePerStep: readonly TimeByClass[];
  /** Exposed copies per step, by direction. */
  readonly copies: CopyTime;
  /** Needed to compare it with other ranks. Null: no communication was recorded. */
  readonly collectives: RankCollectives | null;
  readonly timeline: RankTimeline | null;
  /** What the phases of an event log can tell. Null for a trace, which tells more. */
  readonly phases: PhaseKnowledge | null;
}

export interface CopyTime {
  readonly toDevice: Ns;
  readonly toHost: Ns;
}

/** How much the phases of an event log can tell. */
export interface PhaseKnowledge {
  /** It is known when phases ran: the division is exact, and a collective is time in which nothing else went on. */
  readonly placed: boolean;
  /** Only the host's clock was recorded: a job without a GPU. */
  readonly allHost: boolean;
  /** ns per step in which the device had nothing queued and followed the host. Null: not recorded. */
  readonly hostPaced: Ns | null;
  /** ns per step that the host spent on copies which the device timed. Close to 0 for asynchronous copies. Null: unknown. */
  readonly copyingHost: Ns | null;
}
