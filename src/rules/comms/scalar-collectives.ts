import { bytes, formatMs, fromMs, ms, ns } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { CapturedRank } from '../../diagnosis/run-facts.js';
import { about } from '../../remedies/remedies.js';
import { collectivesOf, leftOfJoined, manyShortOnes } from '../kit/collectives.js';
import { countEvidence, percentOfStep } from '../kit/evidence.js';
import { priceOfStep } from '../kit/price.js';
import { type AnyRule, found, type RuleResult, silent, threshold } from '../kit/rule.js';

const COLLECTIVES = threshold('scalar collectives', 2, 'a step', 'one gather is enough');
const SCALAR = threshold('scalar', bytes(512), 'bytes', '64 numbers of 8 bytes: losses, norms, counts');

export const rule: AnyRule = {
  reads: 'traces and logs',
  lines: /all_reduce|all_gather|broadcast|reduce\(/,
  unpriced: 'allowed',
  info: {
    id: 'scalar-collectives',
    alias: 'W2',
    title: 'Several collectives of single numbers every step',
    needs: 'trace, or what whyslow run counts',
    looksFor:
      'Collectives, on the device or the host, that move a few numbers (losses, norms, counts), several per step.',
    why: 'Each costs a launch and a round trip between all ranks. When its result is read, the whole pipeline stops.',
    more: 'whyslow_capture.MetricsGather does it: all metrics of a step in one all_gather and one read, a step late (pipelined=True) or every N steps.',
    ...about('one-collective'),
    thresholds: [COLLECTIVES, SCALAR],
  },
  check(view, run) {
    if (manyShortOnes(view, run)) return silent('many more are short: small-collectives covers them');
    const counted = run.captured.get(view.rank)?.smallCollectives;
    if (counted && counted.small >= COLLECTIVES.value * counted.steps) return fromCapture(view, counted);
    if (view.source === 'log')
      return silent('collectives carry tensors, not single numbers, or were not counted');
    const all = collectivesOf(view, () => true);
    if (all.count === 0) return silent('no collectives were recorded');
    // gloo records sizes only with record_shapes.
    if (all.bytes.every(Number.isNaN)) return silent('the size of collectives was not recorded');
    // Barriers have no bytes.
    const scalars = collectivesOf(view, (_, size) => size > 0 && size <= SCALAR.value);
    if (scalars.count < COLLECTIVES.value) return silent('collectives carry tensors, not single numbers');
    const text = `${scalars.count.toFixed(0)} of ${all.count.toFixed(0)} collectives per step carry at most ${SCALAR.value} bytes: ${formatMs(scalars.exposed)} per step of them is exposed (${percentOfStep(view, scalars.exposed)}), waiting for other ranks included`;
    return found({
      id: 'scalar-collectives',
      title: 'several collectives per step move a few numbers each',
      confidence: 0.8,
      addresses: 'comms',
      evidence: [countEvidence(view, scalars.count, 'collectives', text)],
      price: null,
    });
  },
};

type Counted = NonNullable<CapturedRank['smallCollectives']>;

function fromCapture(view: RankView, { steps, calls, small, smallMs }: Counted): RuleResult {
  const [count, time] = [small / steps, ns(Math.min(fromMs(ms(smallMs)) / steps, view.step.unprofiled))];
  const text = `${count.toFixed(0)} of ${(calls / steps).toFixed(0)} collectives per step carry at most ${SCALAR.value} bytes: ${formatMs(time)} per step in them (${percentOfStep(view, time)}), waiting for other ranks included`;
  return found({
    id: 'scalar-collectives',
    title: 'several collectives per step move a few numbers each',
    confidence: 0.9,
    addresses: 'comms',
    evidence: [countEvidence(view, count, 'collectives', text)],
    price: priceOfStep(view, (level) => view.step.unprofiled - time * (1 - leftOfJoined(count)[level])),
  });
}
