import { largest } from '../../base/statistics.js';
import { share } from '../../base/units.js';
import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import { removeOperators } from '../../replay/edits.js';
import type { Plan } from '../../replay/plan.js';
import type { KernelTotal } from '../../traces/detail/kernel-table.js';
import { Role } from '../../traces/detail/roles.js';
import { silentBelow } from './evidence.js';
import { runsCompiled } from './host.js';
import { perView } from './per-view.js';
import { priceOf } from './price.js';
import { type Level, type Levels, type Price, type Silent, silent, threshold } from './rule.js';
import { has, REMOVED, workTime } from './work.js';

/** Kernels that a compiler merges with their neighbours: they only read, compute a little, and write. */

/** Roles that torch.compile of the model does not reach. */
export const OUTSIDE_MODEL = Role.optimizer | Role.zeroGrad | Role.data;

/** Norms and transposes are single kernels already: they join a chain, they do not make one. */
const SIMPLE: readonly string[] = ['elementwise', 'cast', 'reduction', 'fill'];
const JOIN_CHAINS: readonly string[] = [...SIMPLE, 'norm', 'softmax', 'layout'];

export const isFusable = (k: KernelTotal, roles: number): boolean =>
  !has(roles, OUTSIDE_MODEL) && !k.fused && JOIN_CHAINS.includes(k.class);

/** Of those, the ones that a compiler also makes shorter. */
export const isSimple = (k: KernelTotal, roles: number): boolean =>
  isFusable(k, roles) && SIMPLE.includes(k.class);

export const ELEMENTWISE = threshold(
  'elementwise kernels',
  share(0.5),
  'of the step',
  'below it matrix work decides, which a compiler leaves to the same libraries',
);
const LONGEST_CHAIN = 40;
/**
 * A chain as one kernel: its longest member, and more for what the others read and what is kept for backward. Zoo
 * `elementwise_big`, the only pair: 2.0.
 */
const CHAIN_COST: Levels = { low: 3, likely: 2, high: 1.25 };

/** What fusing chains of elementwise kernels brings, where they keep the GPU busy. */
export const priceOfFusing = perView((view): { readonly price: Price | null } | Silent => {
  const simple = workTime(view, isSimple);
  const small = silentBelow(view, simple.ns, ELEMENTWISE, 'elementwise kernels are');
  if (small) return small;
  if (runsCompiled(view)) return silent('the model is already compiled');
  return { price: priceOf(view, (plan, level) => fuseChains(view, plan, level)) };
});

/** Of each chain one kernel stays, with its launch. */
function fuseChains(view: TraceView, plan: Plan, level: Level): void {
  const { works, nodes } = plan;
  const fusable = (w: number) =>
    works.duration[w]! >= 0 && isFusable(view.facts.kernels[works.kernel[w]!]!, works.roles[w]!);
  const merged = new Uint8Array(works.length);
  for (let first = 0; first < works.length; first++) {
    if (!fusable(first)) continue;
    let end = first + 1;
    const follows = () =>
      end < works.length &&
      works.step[end] === works.step[first] &&
      works.stream[end] === works.stream[first] &&
      fusable(end);
    while (end - first < LONGEST_CHAIN && follows()) end++;
    const chain = works.duration.subarray(first, end);
    const total = chain.reduce((a, b) => a + b, 0);
    const longest = largest(chain);
    chain.fill(REMOVED, 1);
    chain[0] = Math.min(total, longest * CHAIN_COST[level]);
    merged.fill(1, first + 1, end);
    first = end - 1;
  }
  removeOperators(plan, (n) => nodes.workCount[n] === 1 && merged[nodes.firstWork[n]!] === 1);
}
