import { fromMs, ms } from '../../base/units.js';
import { about } from '../../remedies/remedies.js';
import {
  EXPOSED,
  exchangedByStages,
  exposedCommunication,
  exposedEvidence,
  gathersOnDemand,
  manyShortOnes,
  manySmallReduces,
  overlapGain,
  silentIfHidden,
} from '../kit/collectives.js';
import { type AnyRule, found, silent } from '../kit/rule.js';

/** Larger buckets do not change what else is sent. */
const MOSTLY_SMALL = 0.5;

export const rule: AnyRule = {
  reads: 'traces and logs',
  unpriced: 'allowed',
  trainsOnly: true,
  info: {
    id: 'exposed-collectives',
    alias: 'T23',
    title: 'Collectives do not overlap with computation',
    needs: 'trace or events (all ranks better)',
    looksFor: 'Communication that does not overlap with computation, for a visible part of the step.',
    why: 'Exposed communication is time in which the rank computes nothing.',
    more: 'Small buckets are dominated by latency; large ones start late. FSDP: limit_all_gathers=True if memory gets short. Between machines, look at the network first: the interface that NCCL chose (NCCL_DEBUG=INFO, NCCL_SOCKET_IFNAME), MTU, whyslow doctor.',
    ...about('overlap-collectives'),
    thresholds: [EXPOSED],
  },
  check(view, run) {
    const hidden = silentIfHidden(view, run);
    if (hidden) return hidden;
    if (
      manySmallReduces(view) ||
      manyShortOnes(view, run) ||
      gathersOnDemand(view) ||
      exchangedByStages(view)
    )
      return silent('a more specific rule applies');
    const { steps = 1, smallMs = 0 } = run.captured.get(view.rank)?.smallCollectives ?? {};
    if (fromMs(ms(smallMs / steps)) >= MOSTLY_SMALL * exposedCommunication(view))
      return silent('most of it are collectives of a few numbers: scalar-collectives covers it');
    return found({
      id: 'exposed-collectives',
      title: 'collectives do not overlap with computation',
      confidence: 0.8,
      addresses: 'comms',
      evidence: [exposedEvidence(view)],
      price: null,
      note: overlapGain(view, run),
    });
  },
};
