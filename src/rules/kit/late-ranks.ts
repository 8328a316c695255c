import { describeRanks, whatLateRanksDo } from '../../answers/kit/late-words.js';
import { formatCount, formatMs, ns } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { AcrossRanks } from '../../diagnosis/run-facts.js';
import type { Bottleneck } from '../../facts/causes.js';
import type { LateCause, LateRanks } from '../../run/lateness/late-ranks.js';
import { timeEvidence } from './evidence.js';
import type { Evidence } from './finding.js';
import { type Price, silent } from './rule.js';

/** What the rules about late ranks share. */

export const NOT_COMPARED = silent('one rank only, or ranks that share no collective');
/** In fewer steps, one of two ranks may come last in all of them by chance. */
const ENOUGH_TO_COMPARE = 8;

export const noneLate = ({ steps }: AcrossRanks) =>
  silent(
    steps < ENOUGH_TO_COMPARE ? `no rank stands out in ${formatCount(steps, 'step')}` : 'no rank stands out',
  );

export const ADDRESSES: Readonly<Record<LateCause, Bottleneck>> = {
  data: 'data',
  gpu: 'gpu',
  compile: 'host',
  host: 'host',
  link: 'comms',
  unknown: 'host',
};

export function lateEvidence(view: RankView, late: LateRanks): Evidence {
  const delay = late.mayCost ?? late.cost;
  return timeEvidence(
    view,
    delay,
    `${describeRanks(late)}: ${formatMs(delay)} per step later than the next, in ${formatCount(late.steps.length, 'step')}; most of it is ${whatLateRanksDo(late)}`,
  );
}

/** Parts of the delay that are won back, at worst and at best. */
const WON_BACK = { low: 0.7, high: 1.2 } as const;
/** A delay of almost the whole step is not a delay that can be priced. */
const MOST_OF_STEP = 0.9;

/** A delay that surely costs less than this share of the step, and may cost more, is not priced. */
const LEAST_DELAY = 0.01;

/** A step without the delay. Null: the delay may cost nothing, or it is almost the whole step. */
export function priceOfDelay({ step }: RankView, { cost, mayCost = cost }: LateRanks): Price | null {
  const { pace } = step;
  if (pace === null || !(cost < MOST_OF_STEP * pace)) return null;
  if (mayCost > cost && cost < LEAST_DELAY * pace) return null;
  const without = (delay: number) => pace / (pace - Math.min(delay, 0.95 * pace));
  return {
    speedup: {
      low: without(WON_BACK.low * cost),
      likely: without(cost),
      high: without(WON_BACK.high * mayCost),
    },
    // Ranks are compared as recorded; this rank's step is without the profiler.
    after: ns(step.unprofiled / without(cost)),
    edit: null,
    floor: ns(0),
  };
}
