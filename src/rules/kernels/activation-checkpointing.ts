import { formatMs, share } from '../../base/units.js';
import { removeCalls } from '../../replay/edits.js';
import { Role } from '../../traces/detail/roles.js';
import { atKernel, gpuOrHost, percentOfStep, silentBelow, timeEvidence } from '../kit/evidence.js';
import { operatorsOf } from '../kit/host.js';
import { isWorthwhile, priceOf } from '../kit/price.js';
import { found, silent, type TraceRule, threshold, WITHIN_NOISE } from '../kit/rule.js';
import { has, piecesOf } from '../kit/work.js';

const RECOMPUTED = threshold('recomputed work', share(0.04), 'of the step', WITHIN_NOISE);
const KINDS = threshold(
  'kinds of forward operators in backward',
  3,
  'kinds',
  'custom autograd functions call one or two',
);

const isRecomputed = (roles: number) => has(roles, Role.recompute);

export const rule: TraceRule = {
  reads: 'traces',
  unpriced: 'allowed',
  info: {
    id: 'activation-checkpointing',
    alias: 'T17',
    title: 'The forward pass is computed again in backward (activation checkpointing)',
    needs: 'trace',
    looksFor:
      'Operators that only a forward pass calls (linear, layer_norm, attention, ...) inside nodes of the backward pass.',
    why: 'Checkpointing trades a second forward pass, about a quarter of the compute, for memory. Where memory is free the trade is a loss.',
    fix: {
      text: 'Checkpoint fewer blocks, or none, as far as memory allows: try without, then every second block.',
      code: 'x = block(x)   # instead of checkpoint(block, x, use_reentrant=False)\n# Hugging Face: model.gradient_checkpointing_disable()',
    },
    check:
      'Results are the same. Watch torch.cuda.max_memory_allocated(): it grows by the activations that are now kept.',
    cost: 'knob',
    risk: 'memory',
    thresholds: [RECOMPUTED, KINDS],
  },
  check(view) {
    const recomputed = piecesOf(view, ({ roles }) => isRecomputed(roles));
    if (recomputed.count === 0) return silent('nothing is recomputed in backward');
    const kinds = operatorsOf(view).filter((o) => isRecomputed(o.roles) && has(o.roles, Role.forwardOp));
    if (kinds.length < KINDS.value)
      return silent('only a few forward operators appear in backward: a custom autograd function');
    const price = priceOf(view, (plan) => removeCalls(plan, (n) => isRecomputed(plan.nodes.roles[n]!)));
    const small = silentBelow(view, recomputed.ns, RECOMPUTED, 'recomputed work is');
    if (small && !isWorthwhile(price)) return small;
    const text = `${recomputed.count.toFixed(0)} kernels a step run forward operators inside backward: ${formatMs(recomputed.ns)} (${percentOfStep(view, recomputed.ns)} of the step)`;
    return found({
      id: 'activation-checkpointing',
      title: 'the forward pass is computed twice (checkpointing)',
      confidence: 0.9,
      addresses: gpuOrHost(view),
      evidence: [atKernel(recomputed.list[0]!.kernel, timeEvidence(view, recomputed.ns, text))],
      price,
    });
  },
};
