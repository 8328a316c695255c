import { formatMs } from '../../base/units.js';
import { about } from '../../remedies/remedies.js';
import {
  EXPOSED,
  exposedEvidence,
  GATHERS,
  gathersOnDemand,
  manySmallReduces,
  overlapGain,
  silentIfHidden,
} from '../kit/collectives.js';
import { timeEvidence } from '../kit/evidence.js';
import { type AnyRule, found, silent } from '../kit/rule.js';

export const rule: AnyRule = {
  reads: 'traces and logs',
  unpriced: 'allowed',
  trainsOnly: true,
  info: {
    id: 'no-prefetch',
    alias: 'T23',
    title: 'Parameters are gathered when they are needed, not before',
    needs: 'trace or events (all ranks better)',
    looksFor: 'Exposed communication, most of it all_gather: sharded parameters arrive too late.',
    why: 'A layer cannot start before its parameters are gathered. If they are gathered during the previous layer, they cost nothing.',
    ...about('fsdp-prefetch'),
    thresholds: [EXPOSED, GATHERS],
  },
  check(view, run) {
    const hidden = silentIfHidden(view, run);
    if (hidden) return hidden;
    const gathers = manySmallReduces(view) ? null : gathersOnDemand(view);
    if (gathers === null) return silent('little of the exposed communication is all_gather');
    return found({
      id: 'no-prefetch',
      title: 'parameters are gathered when they are needed, not before',
      confidence: 0.8,
      addresses: 'comms',
      evidence: [
        exposedEvidence(view),
        timeEvidence(view, gathers, `all_gather: ${formatMs(gathers)} per step of it`),
      ],
      price: null,
      note: overlapGain(view, run),
    });
  },
};
