import { placeInTable } from '../../model/gpu-links.js';
import type { Trace } from '../../model/trace.js';
import type { KernelKind } from '../kernels/kernel-kind.js';
import type { Plan } from '../replay/plan.js';

/** A few numbers: losses, norms, counts. */
const SCALAR_ELEMENTS = 64;

/** Collectives on the device a step, and how many of them move a few numbers only. */
export function countCollectives(
  trace: Trace,
  kinds: readonly (KernelKind | undefined)[],
  plan: Plan | null,
) {
  if (!plan) return { count: 0, scalar: 0 };
  const { row, inElements } = trace.data.collectives;
  let count = 0;
  let scalar = 0;
  for (const r of plan.works.row) {
    if (kinds[trace.data.name[r]!]?.class !== 'comms') continue;
    count++;
    // Kernels without arguments (NaN) never pass.
    if ((inElements[placeInTable(row, r)] ?? Number.NaN) <= SCALAR_ELEMENTS) scalar++;
  }
  return { count: count / plan.steps.length, scalar: scalar / plan.steps.length };
}
