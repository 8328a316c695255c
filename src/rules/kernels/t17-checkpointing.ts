import { removeCalls } from '../../replay/edits.js';
import { Role } from '../../traces/detail/roles.js';
import { at, evidence, inMs, ms, percent, priceOf, silent, workTime, worthwhile } from '../kit/kit.js';
import type { TraceRule } from '../kit/rule.js';

const SHARE = 0.04;
/** Kinds of forward operators seen inside backward: a custom backward may use one, a recomputed block uses several. */
const KINDS = 3;

const isRecomputed = (roles: number) => (roles & Role.recompute) !== 0;

export const checkpointing: TraceRule = {
  reads: 'traces',
  info: {
    id: 'T17',
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
    thresholds: [
      {
        name: 'recomputed work',
        value: SHARE,
        unit: 'of the step',
        source: 'below it the gain is within noise',
      },
      {
        name: 'kinds of forward operators in backward',
        value: KINDS,
        unit: 'kinds',
        source: 'custom autograd functions call one or two',
      },
    ],
  },
  check(view) {
    const recomputed = workTime(view, (_, roles) => isRecomputed(roles));
    if (recomputed.count === 0) return silent('nothing is recomputed in backward');
    const kinds = (view.facts.detail?.operators ?? []).filter(
      (o) => isRecomputed(o.roles) && (o.roles & Role.forwardOp) !== 0,
    );
    if (kinds.length < KINDS)
      return silent('only a few forward operators appear in backward: a custom autograd function');
    const price = priceOf(view, (plan) => removeCalls(plan, (n) => isRecomputed(plan.nodes.roles[n]!)));
    if (recomputed.ns < SHARE * view.step && !worthwhile(price))
      return silent(`recomputed work is ${percent(recomputed.ns / view.step)} of the step`);
    if (price && !worthwhile(price))
      return silent('the step would not get shorter: something else holds it up');
    const plan = view.facts.detail!.plan!;
    const example = plan.works.roles.findIndex((r) => isRecomputed(r));
    const kernel = view.facts.kernels[plan.works.kernel[example]!]!;
    return {
      findings: [
        {
          id: 'activation-checkpointing',
          title: 'the forward pass is computed twice (checkpointing)',
          confidence: 0.9,
          addresses: view.time.compute > 0.5 * view.step ? 'gpu' : 'host',
          evidence: [
            at(
              evidence(
                view,
                `${recomputed.count.toFixed(0)} kernels a step run forward operators inside backward: ${ms(recomputed.ns)} (${percent(recomputed.ns / view.step)} of the step)`,
                inMs(recomputed.ns),
                'ms/step',
              ),
              kernel.longestTs,
              kernel.longest,
            ),
          ],
          price,
        },
      ],
    };
  },
};
