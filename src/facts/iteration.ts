import { formatCount } from '../base/units.js';

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
