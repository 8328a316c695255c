import { exchangedByStages, gathersOnDemand, manySmallReduces } from '../kit/collective-faults.js';
import { EXPOSED, exposedEvidence, overlapGain, silentIfHidden } from '../kit/collectives.js';
import { type AnyRule, found, silent } from '../kit/rule.js';

export const rule: AnyRule = {
  reads: 'traces and logs',
  unpriced: 'allowed',
  info: {
    id: 'exposed-collectives',
    alias: 'T23',
    title: 'Collectives run with no computation beside them',
    needs: 'trace or events (all ranks better)',
    looksFor: 'Communication that no computation hides, for a visible part of the step.',
    why: 'Exposed communication is time in which the rank computes nothing.',
    fix: {
      text: 'Give communication something to hide behind: larger DDP buckets, gradients as views of them; with FSDP prefetch in both directions; more work per step (accumulation with no_sync).',
      code: 'DDP(model, bucket_cap_mb=100, gradient_as_bucket_view=True)\nFSDP(..., backward_prefetch=BackwardPrefetch.BACKWARD_PRE,\n     forward_prefetch=True)\n# DeepSpeed: "zero_optimization": {"overlap_comm": true}',
    },
    check: 'Results are the same; with accumulation, keep the effective batch.',
    more: 'Buckets that are too small are all latency, too large ones start late. FSDP: limit_all_gathers=True if memory gets short. Between machines, look at the network first: the interface that NCCL chose (NCCL_DEBUG=INFO, NCCL_SOCKET_IFNAME), MTU, whyslow doctor.',
    cost: 'knob',
    risk: 'none',
    thresholds: [EXPOSED],
  },
  check(view, run) {
    const hidden = silentIfHidden(view, run);
    if (hidden) return hidden;
    if (manySmallReduces(view) || gathersOnDemand(view) || exchangedByStages(view))
      return silent('a more specific rule applies');
    const { text, code } = rule.info.fix;
    return found({
      id: 'exposed-collectives',
      title: 'collectives run with no computation beside them',
      confidence: 0.8,
      addresses: 'comms',
      evidence: [exposedEvidence(view)],
      price: null,
      fix: { text: text + overlapGain(view, run), code },
    });
  },
};
