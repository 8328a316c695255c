import type { Ns } from '../base/units.js';

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
