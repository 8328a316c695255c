import { share } from '../../base/units.js';
import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import { Role } from '../../traces/detail/roles.js';
import { threshold, WITHIN_NOISE } from './rule.js';
import { has, isMatrixWork, type WorkTest, workTime } from './work.js';

export const UNFUSED = threshold('unfused attention', share(0.08), 'of the step', WITHIN_NOISE);
/** Less softmax than this part is not attention. */
const SOFTMAX = 0.03;

export const isUnfused = (roles: number): boolean => has(roles, Role.mathAttention);

/** Attention that `unfused-attention` would fuse. */
export function hasUnfusedAttention(view: TraceView): boolean {
  const all = workTime(view, (_, roles) => isUnfused(roles));
  const softmax = workTime(
    view,
    (k, roles) => isUnfused(roles) && (k.class === 'softmax' || has(roles, Role.softmax)),
  );
  const products = workTime(view, (k, roles) => isUnfused(roles) && isMatrixWork(k));
  return all.ns >= UNFUSED.value * view.step.unprofiled && softmax.ns > SOFTMAX * all.ns && products.ns > 0;
}

/** Leaves the products of unfused attention to the rule that fuses it. */
export function outsideUnfusedAttention(view: TraceView, test: WorkTest): WorkTest {
  const attention = hasUnfusedAttention(view);
  return (kernel, roles) => test(kernel, roles) && !(attention && isUnfused(roles));
}
