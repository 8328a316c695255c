import { formatMs, type Ns } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import { about, use } from '../../remedies/remedies.js';
import {
  EXPOSED,
  exposedEvidence,
  leftOfJoined,
  MANY,
  manyShortOnes,
  manySmallReduces,
  overlapGain,
  SMALL,
  silentIfHidden,
} from '../kit/collectives.js';
import { countEvidence, percentOfStep } from '../kit/evidence.js';
import { priceOfStep } from '../kit/price.js';
import { type AnyRule, found, type RuleResult, silent } from '../kit/rule.js';

export const rule: AnyRule = {
  reads: 'traces and logs',
  unpriced: 'allowed',
  trainsOnly: true,
  info: {
    id: 'small-collectives',
    alias: 'T23',
    title: 'Gradients are reduced in many small pieces',
    needs: 'trace or events (all ranks better)',
    looksFor: 'Exposed communication with dozens of all_reduces per step, each below a megabyte.',
    why: 'Small collectives are dominated by latency. A few large buckets move the same bytes in less time.',
    ...about('ddp-bucket-size'),
    thresholds: [EXPOSED, MANY, SMALL],
  },
  check(view, run) {
    const counted = manyShortOnes(view, run);
    if (counted) return fromCapture(view, counted);
    const hidden = silentIfHidden(view, run);
    if (hidden) return hidden;
    const small = manySmallReduces(view);
    if (!small) return silent('all_reduces are few or large');
    const reduces = `${small.count} all_reduces per step, median ${(small.bytes / 1e3).toFixed(0)} kB`;
    return found({
      id: 'small-collectives',
      title: 'gradients are reduced in many small pieces',
      confidence: 0.8,
      addresses: 'comms',
      evidence: [exposedEvidence(view), countEvidence(view, small.count, 'collectives', reduces)],
      price: null,
      note: overlapGain(view, run),
    });
  },
};

function fromCapture(view: RankView, { count, time }: { count: number; time: Ns }): RuleResult {
  const text = `${count.toFixed(0)} collectives per step carry at most 64 KiB each: ${formatMs(time)} per step in them (${percentOfStep(view, time)}), waiting for other ranks included`;
  return found({
    id: 'small-collectives',
    title: 'gradients are reduced in many small pieces',
    confidence: 0.85,
    addresses: 'comms',
    evidence: [countEvidence(view, count, 'collectives', text)],
    price: priceOfStep(view, (level) => view.step.unprofiled - time * (1 - leftOfJoined(count)[level])),
    remedy: use('bucketed-gradients'),
  });
}
