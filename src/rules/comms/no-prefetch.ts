import { formatMs } from '../../base/units.js';
import { GATHERS, gathersOnDemand, manySmallReduces } from '../kit/collective-faults.js';
import { EXPOSED, exposedEvidence, overlapGain, silentIfHidden } from '../kit/collectives.js';
import { timeEvidence } from '../kit/evidence.js';
import { type AnyRule, found, silent } from '../kit/rule.js';

export const rule: AnyRule = {
  reads: 'traces and logs',
  unpriced: 'allowed',
  info: {
    id: 'no-prefetch',
    alias: 'T23',
    title: 'Parameters are gathered when they are needed, not before',
    needs: 'trace or events (all ranks better)',
    looksFor: 'Exposed communication, most of it all_gather: sharded parameters arrive too late.',
    why: 'A layer cannot start before its parameters are gathered. Gathered during the layer before, they cost nothing.',
    fix: {
      text: 'Gather the next layer’s parameters while this one computes, in both directions.',
      code: 'FSDP(..., forward_prefetch=True,\n     backward_prefetch=BackwardPrefetch.BACKWARD_PRE)\n# FSDP2: layer.set_modules_to_forward_prefetch([next_layer])',
    },
    check: 'Results are the same. Peak memory grows by the parameters of one layer.',
    cost: 'knob',
    risk: 'none',
    thresholds: [EXPOSED, GATHERS],
  },
  check(view, run) {
    const hidden = silentIfHidden(view, run);
    if (hidden) return hidden;
    const gathers = manySmallReduces(view) ? null : gathersOnDemand(view);
    if (gathers === null) return silent('little of the exposed communication is all_gather');
    const { text, code } = rule.info.fix;
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
      fix: { text: text + overlapGain(view, run), code },
    });
  },
};
