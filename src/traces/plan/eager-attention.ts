import type { Plan } from '../../replay/plan.js';
import { Role } from '../detail/roles.js';
import type { KernelKind } from '../kernels/kernel-kind.js';

/** At most this many kernels are between a product and the softmax: scaling, masking, dropout, casts. */
const NEAR = 12;
/** Backward has two products on either side, with at most this many casts and transposes between them. */
const NEXT = 4;

/**
 * Marks unfused attention: a softmax between batched matrix products, in the order of launches. All work from the first
 * product to the last gets the role, in backward too, where no operator's name tells.
 */
export function markEagerAttention(plan: Plan, kernels: readonly KernelKind[]): void {
  const { roles, length, step, kernel } = plan.works;
  const isProduct = (w: number) => (roles[w]! & Role.batchedMatmul) !== 0;
  const isOtherProduct = (w: number) => !isProduct(w) && kernels[kernel[w]!]!.class === 'gemm';
  for (let w = 0; w < length; w++) {
    if ((roles[w]! & Role.softmax) === 0) continue;
    const first = outward(w, -1);
    const last = outward(w, 1);
    if (first < 0 || last < 0) continue;
    for (let i = first; i <= last; i++) roles[i]! |= Role.mathAttention;
  }

  /** The farthest product of the group on one side of the softmax; −1: none. */
  function outward(from: number, by: 1 | -1): number {
    let found = -1;
    let left = NEAR;
    for (let i = from + by; left > 0 && i >= 0 && i < length; i += by, left--) {
      // A linear layer or work of another step ends the group.
      if (step[i] !== step[from] || isOtherProduct(i)) break;
      if (!isProduct(i)) continue;
      found = i;
      left = NEXT + 1;
    }
    return found;
  }
}
