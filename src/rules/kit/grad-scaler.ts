import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import { SYNC } from '../../replay/plan.js';
import { Role } from '../../traces/detail/roles.js';
import type { Finding } from './finding.js';
import { has } from './work.js';

/** A GradScaler that leaves the decision to a fused optimizer, on the GPU (torch/amp/grad_scaler.py, `_step_supports_amp_scaling`). */
export const FUSED_WITH_SCALER: Finding['fix'] = {
  text: 'The read is of GradScaler: before scaler.step() calls an optimizer that is not fused, it asks whether a gradient is infinite. A fused optimizer takes that answer on the GPU. bf16 needs no scaler at all.',
  code: 'torch.optim.AdamW(model.parameters(), fused=True)  # or Adam, SGD, Adagrad\n# or torch.autocast("cuda", dtype=torch.bfloat16) without GradScaler',
};

/**
 * Times a step that `scaler.step()` reads whether gradients are finite: after they were divided by the scale, right before
 * the first call of the optimizer.
 */
export function scalerReads({ facts: { detail } }: TraceView): number {
  const plan = detail?.plan;
  if (!plan) return 0;
  const { kind, roles, length } = plan.nodes;
  let unscaled = false;
  let reads = 0;
  for (let n = 1; n < length; n++) {
    if (has(roles[n]!, Role.unscales)) unscaled = true;
    if (!unscaled || !has(roles[n]!, Role.optimizer)) continue;
    unscaled = false;
    if (kind[n - 1] === SYNC && has(roles[n - 1]!, Role.reads)) reads++;
  }
  return reads / plan.steps.length;
}
