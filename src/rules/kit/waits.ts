import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import { removeOperators, skipWaits } from '../../replay/edits.js';
import { type Plan, SYNC } from '../../replay/plan.js';
import { Role } from '../../traces/detail/roles.js';
import { copiesToHost } from './host.js';
import { priceOf } from './price.js';
import { type Price, threshold } from './rule.js';
import { has } from './work.js';

/** From this many on, the model is written so that shapes depend on values. */
export const SHAPES = threshold(
  'results whose size depends on data',
  4,
  'a step',
  'fewer are single operators, not a way of writing the model',
);

const isRead = (roles: number) => has(roles, Role.reads) && !has(roles, Role.nanCheck);

/** Times a step that the host waits for the GPU, by what for. */
export interface Waits {
  readonly reads: number;
  readonly shapes: number;
  readonly copies: number;
  readonly other: number;
}

export function waitsOf({ facts }: TraceView): Waits {
  const counts = { reads: 0, shapes: 0, copies: 0, other: 0 };
  const plan = facts.detail?.plan;
  if (!plan) return counts;
  const { nodes, steps } = plan;
  for (let n = 0; n < nodes.length; n++) {
    const roles = nodes.roles[n]!;
    if (has(roles, Role.data | Role.nanCheck) || !isWait(plan, n)) continue;
    if (nodes.kind[n] !== SYNC) counts.copies++;
    else if (isRead(roles)) counts.reads++;
    else if (has(roles, Role.sizesFromData)) counts.shapes++;
    else counts.other++;
  }
  return {
    reads: counts.reads / steps.length,
    shapes: counts.shapes / steps.length,
    copies: counts.copies / steps.length,
    other: counts.other / steps.length,
  };
}

/** The host waits in this call. Copies of batches to the device make it wait too; those are left to `pageable-copies`. */
function isWait(plan: Plan, n: number): boolean {
  const { nodes } = plan;
  if (nodes.kind[n] !== SYNC) return isAwaitedCopy(plan, n);
  const streams = plan.streamBusyUntil.length;
  return nodes.awaited.subarray(n * streams, (n + 1) * streams).some((w) => w >= 0);
}

const isAwaitedCopy = (plan: Plan, n: number) => copiesToHost(plan, n) && plan.nodes.waitsFor[n]! >= 0;

/** The step without reads of GPU values, and with sizes that are known beforehand (padding, capacity). */
export const priceWithoutReads = (view: TraceView): Price | null =>
  priceOf(view, (plan) => {
    const { roles } = plan.nodes;
    removeOperators(plan, (n) => isRead(roles[n]!) || isAwaitedCopy(plan, n));
    skipWaits(plan, (n) => !has(roles[n]!, Role.data) && isWait(plan, n));
  });
