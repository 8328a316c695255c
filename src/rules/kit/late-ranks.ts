import { formatCount, formatMs, type Ns, ns } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { AcrossRanks } from '../../diagnosis/run-facts.js';
import type { Bottleneck } from '../../diagnosis/verdict/bottleneck.js';
import { CAUSE_WORDS, describeRanks } from '../../diagnosis/words/late-ranks.js';
import type { Cause, LateRanks } from '../../run/lateness/late-ranks.js';
import { timeEvidence } from './evidence.js';
import type { Evidence } from './finding.js';
import { type Price, silent } from './rule.js';

/** What the rules about late ranks share. */

export const NOT_COMPARED = silent('one rank only, or ranks that share no collective');
/** In fewer steps, one of two ranks may come last in all of them by chance. */
const FEW_STEPS = 8;

export const noneLate = ({ steps }: AcrossRanks) =>
  silent(steps < FEW_STEPS ? `no rank stands out in ${formatCount(steps, 'step')}` : 'no rank stands out');

export const ADDRESSES: Readonly<Record<Cause, Bottleneck>> = {
  data: 'data',
  gpu: 'gpu',
  compile: 'host',
  host: 'host',
  link: 'comms',
  unknown: 'host',
};

export function lateEvidence(view: RankView, late: LateRanks): Evidence {
  return timeEvidence(
    view,
    late.cost,
    `${describeRanks(late)}: ${formatMs(late.cost)} a step later than the next, in ${formatCount(late.steps.length, 'step')}; most of it is ${CAUSE_WORDS[late.cause]}`,
  );
}

/** Parts of the delay that are won back, at worst and at best. */
const WON_BACK = { low: 0.7, high: 1.2 } as const;
/** A delay of almost the whole step is not a delay that can be priced. */
const MOST_OF_STEP = 0.9;

/** The step of all ranks without the delay. */
export function priceOfDelay(step: Ns, delay: Ns): Price | null {
  if (!(delay < MOST_OF_STEP * step)) return null;
  const gain = (part: number) => step / (step - part * delay);
  return {
    speedup: {
      low: gain(WON_BACK.low),
      likely: gain(1),
      high: gain(Math.min(WON_BACK.high, (0.95 * step) / delay)),
    },
    after: ns(step - delay),
    edit: null,
    floor: ns(0),
  };
}
