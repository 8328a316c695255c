import { formatMs, ns, share } from '../../base/units.js';
import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import { about } from '../../remedies/remedies.js';
import { removeCalls } from '../../replay/edits.js';
import type { Plan } from '../../replay/plan.js';
import { Role } from '../../traces/detail/roles.js';
import { atKernel, gpuOrHost, percentOfStep, silentBelow, timeEvidence } from '../kit/evidence.js';
import { OUTSIDE_MODEL } from '../kit/fusable.js';
import { hostPerEvent, operatorsOf } from '../kit/host.js';
import { isWorthwhile, priceOf, priceOfStep } from '../kit/price.js';
import {
  found,
  type Levels,
  type RuleResult,
  silent,
  type TraceRule,
  threshold,
  WITHIN_NOISE,
} from '../kit/rule.js';
import { has, piecesOf } from '../kit/work.js';

const RECOMPUTED = threshold('recomputed work', share(0.04), 'of the step', WITHIN_NOISE);
const ON_HOST = threshold(
  'recomputed work on a CPU',
  share(0.025),
  'of the step',
  'measured on 2 cores: 2.8% gained ×1.05, 5.7% ×1.07; in small models, where checkpointing’s own Python is most of it, 1.7% ×1.15',
);
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
    why: 'Checkpointing trades a second forward pass, about a quarter of the compute, for memory. If there is memory to spare, the trade is a loss.',
    more: 'If memory requires some checkpointing, choose the fewest and heaviest blocks, with use_reentrant=False.',
    ...about('keep-activations'),
    thresholds: [RECOMPUTED, KINDS, ON_HOST],
  },
  check(view) {
    if (!view.facts.hasGpuWork) return onHost(view);
    const recomputed = piecesOf(view, ({ roles }) => isRecomputed(roles));
    if (recomputed.count === 0) return silent('nothing is recomputed in backward');
    const kinds = operatorsOf(view).filter((o) => isRecomputed(o.roles) && has(o.roles, Role.forwardOp));
    if (kinds.length < KINDS.value)
      return silent('only a few forward operators appear in backward: a custom autograd function');
    const price = priceOf(view, withoutCheckpoints);
    const small = silentBelow(view, recomputed.ns, RECOMPUTED, 'recomputed work is');
    if (small && !isWorthwhile(price)) return small;
    const text = `${recomputed.count.toFixed(0)} kernels per step run forward operators inside backward: ${formatMs(recomputed.ns)} (${percentOfStep(view, recomputed.ns)} of the step)`;
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

/** On a CPU the operators' own time shows it. A custom autograd function that runs two kinds again recomputes as well. */
const KINDS_ON_HOST = 2;
/**
 * How much of it goes. Keeping activations takes memory, which has to be written and read again; but the forward pass gets shorter
 * too, as it saves no random states and runs no hooks for tensors that are saved: 1.2 to 1.6 times the recomputed time (2 cores).
 */
const SAVED: Levels = { low: 0.6, likely: 1, high: 1.6 };

function onHost(view: TraceView): RuleResult {
  const { detail } = view.facts;
  if (!detail || detail.recomputed === 0) return silent('nothing is recomputed in backward');
  const kinds = operatorsOf(view).filter((o) => isRecomputed(o.roles) && has(o.roles, Role.forwardOp));
  if (kinds.length < KINDS_ON_HOST)
    return silent('only one forward operator appears in backward: a custom autograd function');
  const recomputed = ns(
    (detail.recomputed / detail.steps) * Math.min(1, view.step.unprofiled / view.step.recorded),
  );
  const small = silentBelow(view, recomputed, ON_HOST, 'recomputed work is');
  if (small) return small;
  const names = kinds.map((o) => o.name.replace('aten::', '')).join(', ');
  const text = `forward operators run again inside backward (${names}): ${formatMs(recomputed)} per step (${percentOfStep(view, recomputed)})`;
  return found({
    id: 'activation-checkpointing',
    title: 'the forward pass is computed twice (checkpointing)',
    confidence: 0.85,
    addresses: 'gpu',
    evidence: [timeEvidence(view, recomputed, text)],
    price: priceOfStep(view, (level) => view.step.unprofiled - SAVED[level] * recomputed),
  });
}

/** Forward operators against backward ones, host time per recorded event: median of 38 zoo loops without checkpointing. */
const FORWARD_PER_EVENT = 1.3;

/**
 * Recomputation goes, and so does checkpoint's own Python: the time between the last recomputed call and the next one, and
 * the hooks that forward runs for every tensor it saves.
 */
function withoutCheckpoints(plan: Plan): void {
  const { roles, hostWork, inOperator, length } = plan.nodes;
  const inForward = (n: number) => !has(roles[n]!, Role.backward | OUTSIDE_MODEL);
  const isPlainBackward = (n: number) => has(roles[n]!, Role.backward) && !isRecomputed(roles[n]!);
  for (let n = 1; n < length; n++)
    if (isRecomputed(roles[n - 1]!) && !isRecomputed(roles[n]!)) hostWork[n] = inOperator[n]!;
  const usual = FORWARD_PER_EVENT * hostPerEvent(plan, isPlainBackward);
  const hooked = hostPerEvent(plan, inForward);
  for (let n = 0; n < length; n++)
    if (inForward(n) && hooked > usual && usual > 0) hostWork[n]! *= usual / hooked;
  removeCalls(plan, (n) => isRecomputed(roles[n]!));
}
