import { type Ns, ns } from '../base/units.js';
import { type JobTime, outsidePerStep } from './job-time.js';

/** What marks the steps, most reliable first. `window`: nothing does, so the whole recording counts as one step. */
export const STEP_SOURCES = [
  'profiler',
  'annotation',
  'optimizer',
  'dataloader',
  'launches',
  'window',
] as const;
export type StepSource = (typeof STEP_SOURCES)[number];

/** Step numbers, both ends included. Null: open. */
export interface StepRange {
  readonly first: number | null;
  readonly last: number | null;
}

/** As `--steps` takes it. */
export const stepsOption = ({ first, last }: StepRange): string =>
  first !== null && first === last ? String(first) : `${first ?? ''}-${last ?? ''}`;

export interface StepFacts {
  readonly source: StepSource;
  /** Whole steps in the recording. */
  readonly total: number;
  /** The steps that figures are means over: how many, first and last number. */
  readonly count: number;
  readonly first: number;
  readonly last: number;
  /** Some steps take far longer than others, so the first step counts too. */
  readonly irregular: boolean;
  /** Mean recorded step time: `StepTime.recorded`. */
  readonly recorded: Ns;
  /** Duration and number of each step. */
  readonly periods: readonly Ns[];
  readonly indices: readonly number[];
}

/** Code of a note on an event log: the job records most of its own steps with a profiler. */
export const PROFILER_LEFT_ON = 'profiler-left-on';
/** Code of a note: if the delay of a late rank is hidden, another rank sets the pace than it seems. */
export const MAY_BE_HIDDEN = 'delay-may-be-hidden';

/**
 * How long one training step takes. There are four answers, because there are four questions:
 *
 * - compare with a time that was recorded next to it (a class of `facts.time`, a kernel, a pause): `recorded`;
 * - what a rule looks at, a share of the step, the gain of a fix: `unprofiled`;
 * - what people wait for and what the report shows as `step.ms`: `whole`;
 * - what a late rank costs the run: `pace`.
 */
export interface StepTime {
  /** Mean of the recorded steps, with what recording added to them. The classes of `facts.time` add up to it. */
  readonly recorded: Ns;
  /** What measured it: the GPU's work in a trace, the host's calls in a trace without a GPU, or an event log. */
  readonly recordedBy: 'gpu-timeline' | 'host' | 'events';
  /** Without the profiler. The classes of `RankView.time` add up to it. */
  readonly unprofiled: Ns;
  /**
   * `events`: an event log measured it without the profiler. `replay`: `recorded` less what the profiler adds in a replay.
   * `estimate`: `recorded` less the usual cost of the recorded events, because the steps cannot be replayed.
   */
  readonly unprofiledBy: 'events' | 'replay' | 'estimate';
  /** `unprofiled` and what the job does between steps, per step (`JobTime`). The same as `unprofiled` if nothing recorded that. */
  readonly whole: Ns;
  /**
   * What the run needs per recorded step, as the mean of its ranks, with steps that their logs skipped (`Comparison`). Null:
   * ranks were not compared.
   */
  readonly pace: Ns | null;
}

export function stepTime(
  measured: Pick<StepTime, 'recorded' | 'recordedBy' | 'unprofiled' | 'unprofiledBy'>,
  job: JobTime | null,
): StepTime {
  return { ...measured, whole: ns(measured.unprofiled + outsidePerStep(job)), pace: null };
}

/** The same step, if it takes `unprofiled` without the profiler. */
export const lasting = (step: StepTime, unprofiled: number): StepTime => ({
  ...step,
  unprofiled: ns(unprofiled),
  whole: ns(unprofiled + betweenSteps(step)),
});

/** Time per step that the job spends between training steps. */
export const betweenSteps = ({ whole, unprofiled }: StepTime): Ns => ns(whole - unprofiled);

/** An event log measured the step without the profiler. False: that is an estimate. */
export const isMeasured = ({ unprofiledBy }: StepTime): boolean => unprofiledBy === 'events';
