import { formatCount, type Ns, ns } from '../base/units.js';
import type { TimeClass } from './time-class.js';

/** The wall time of one rank's process. `startUp`, `training`, `phases` and `end` add up to `wall`. */
export interface JobTime {
  readonly wall: Ns;
  /** From the start of the process to its first batch. */
  readonly startUp: Ns;
  /** The part of it in which torch.compile worked: the model was called before the first batch. */
  readonly compiledFirst?: Ns;
  /** In training steps, without what `phases` has. */
  readonly training: Ns;
  /** From the last step to the end of the process, without what `phases` has. */
  readonly end: Ns;
  readonly steps: number;
  /** What one of these steps is. Null: one optimizer step after one backward pass, or not known. */
  readonly iteration: Iteration | null;
  /** Largest first. */
  readonly phases: readonly JobPhase[];
}

/** What a job does between training steps, or a phase that its own code names. */
export interface JobPhase {
  /** `checkpoint`, `evaluation`, `generation`, `inference`, `no_grad`, `logging`, `gc`, `compile`, or the job's own name. */
  readonly name: string;
  readonly ns: Ns;
  readonly count: number;
  /** The longest single time. Null: not known. */
  readonly longest: Ns | null;
  /**
   * It comes again and again, so it grows with the length of the job. Not so a first compilation or a last checkpoint.
   */
  readonly recurs: boolean;
  /** The job names it itself, and it is part of its steps. Measured in recorded steps and scaled to all of them. */
  readonly own: boolean;
  /** The function that most of it was spent in, and the line of the job's code that called it. */
  readonly call: string | null;
  readonly line: string | null;
}

/** Phases between steps that grow with the job. */
export const recurring = (job: JobTime | null): readonly JobPhase[] =>
  job ? job.phases.filter((p) => p.recurs && !p.own) : [];

/** Their time per step. */
export function outsidePerStep(job: JobTime | null, name?: string): Ns {
  if (!job || job.steps === 0) return ns(0);
  const counted = recurring(job).filter((p) => name === undefined || p.name === name);
  return ns(counted.reduce((sum, p) => sum + p.ns, 0) / job.steps);
}

/** What one step is where it is more than one optimizer step after one backward pass. */
export interface Iteration {
  readonly optimizerSteps: number;
  readonly optimizers: number;
  /** 0: not seen. */
  readonly backwardPasses: number;
  /** Iterations differ in their number of optimizer steps; `optimizerSteps` is the usual one. */
  readonly varies: boolean;
  /** It begins with a stretch in which the model is called without gradients: a rollout. */
  readonly rollout: boolean;
}

/** `a rollout and 4 optimizer steps of 2 optimizers`. */
export function iterationWords(iteration: Iteration): string {
  const { optimizerSteps, optimizers, backwardPasses, varies, rollout } = iteration;
  const about = varies ? 'about ' : '';
  const of = optimizers > 1 ? ` of ${optimizers} optimizers` : '';
  const steps = `${about}${formatCount(optimizerSteps, 'optimizer step')}${of}`;
  const passes =
    optimizerSteps === 1 && backwardPasses > 1
      ? ` after ${formatCount(backwardPasses, 'backward pass', 'backward passes')}`
      : '';
  return `${rollout ? 'a rollout and ' : ''}${steps}${passes}`;
}

/** Steps of a run became lastingly slower. */
export interface PaceChange {
  /** Number of the first recorded step that is slower. */
  readonly step: number;
  /** Usual steps before and after. */
  readonly before: Ns;
  readonly after: Ns;
  /** At once, and not little by little. */
  readonly isJump: boolean;
  /** What grew most. */
  readonly grew: { readonly class: TimeClass; readonly before: Ns; readonly after: Ns } | null;
}
