import { type Ns, ns, type Share, share } from '../../base/units.js';
import type { RankCollectives } from '../../facts/rank-collectives.js';

/** What a rank waited for others in one step. */
export interface StepWait {
  /** The longest wait in one collective, hidden or exposed. */
  readonly longest: Ns;
  readonly exposed: Ns;
  /** The part of exposed communication that is waiting; the rest is transfer. */
  readonly waitShare: Share;
}

export const NO_WAIT: StepWait = { longest: ns(0), exposed: ns(0), waitShare: share(0) };

/**
 * By step number. A collective waits first and transfers last, and computing hides its beginning. So its exposed part is
 * transfer up to the length of the transfer, and waiting beyond that. `waitOf`: ns waited in each collective.
 */
export function waitsByStep(collectives: RankCollectives, waitOf: Float64Array): Map<number, StepWait> {
  const sums = new Map<number, { longest: number; waited: number; exposed: number }>();
  for (let i = 0; i < collectives.length; i++) {
    const step = collectives.steps[collectives.step[i]!];
    const wait = waitOf[i]!;
    if (step === undefined || Number.isNaN(wait)) continue;
    const exposed = collectives.exposed[i]!;
    const transfer = collectives.end[i]! - collectives.start[i]! - wait;
    const sum = sums.get(step) ?? { longest: 0, waited: 0, exposed: 0 };
    sums.set(step, sum);
    sum.longest = Math.max(sum.longest, wait);
    sum.waited += Math.min(wait, Math.max(0, exposed - transfer));
    sum.exposed += exposed;
  }
  return new Map(
    [...sums].map(([step, { longest, waited, exposed }]) => [
      step,
      { longest: ns(longest), exposed: ns(exposed), waitShare: share(exposed > 0 ? waited / exposed : 0) },
    ]),
  );
}

/** The part of exposed communication that is waiting, over all steps. */
export function waitShareOf(steps: ReadonlyMap<number, StepWait>): Share {
  let [waited, exposed] = [0, 0];
  for (const step of steps.values()) {
    waited += step.waitShare * step.exposed;
    exposed += step.exposed;
  }
  return share(exposed > 0 ? waited / exposed : 0);
}
