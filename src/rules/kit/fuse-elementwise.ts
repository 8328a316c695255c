import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import type { Plan } from '../../replay/plan.js';
import type { KernelTotal } from '../../traces/detail/kernel-table.js';
import { Role } from '../../traces/detail/roles.js';
import { evidence, inMs, ms, percent, priceOf, workTime, worthwhile } from './kit.js';
import type { Level, RankFinding } from './rule.js';

/** Kernels that a compiler merges with their neighbours: all they do is read, compute a little, and write. */
const FUSES: ReadonlySet<string> = new Set([
  'elementwise',
  'cast',
  'norm',
  'reduction',
  'softmax',
  'layout',
  'fill',
]);
const OUTSIDE = Role.optimizer | Role.zeroGrad | Role.data;

export const isFusable = (k: KernelTotal, roles: number): boolean =>
  (roles & OUTSIDE) === 0 && !k.fused && FUSES.has(k.class);

/** Below this matrix work decides, and a compiler leaves that to the same libraries. */
const SHARE = 0.5;
/** Norms and transposes are single kernels already: they join a chain, they do not make one. */
const SIMPLE: ReadonlySet<string> = new Set(['elementwise', 'cast', 'reduction', 'fill']);
const LONGEST_CHAIN = 40;
/** A chain as one kernel: its longest member, and more for the inputs that the others read. */
const CHAIN_COST: Readonly<Record<Level, number>> = { low: 2.5, likely: 1.5, high: 1 };

/** The device is busy with memory traffic: chains of elementwise kernels, each reading and writing all of its tensor. */
export function unfusedChains(view: TraceView): RankFinding | null {
  const chains = workTime(view, isFusable);
  const simple = workTime(view, (k, roles) => isFusable(k, roles) && SIMPLE.has(k.class));
  if (simple.ns < SHARE * view.step) return null;
  const compiled = (view.facts.detail?.operators ?? []).some((o) => (o.roles & Role.compiled) !== 0);
  if (compiled) return null;
  const price = priceOf(view, (plan, level) => fuseChains(view, plan, level));
  if (!worthwhile(price)) return null;
  return {
    id: 'unfused-elementwise',
    title: 'the GPU is busy reading and writing: elementwise kernels are not fused',
    confidence: 0.85,
    addresses: 'gpu',
    evidence: [
      evidence(
        view,
        `${chains.count.toFixed(0)} elementwise, norm and copy kernels take ${ms(chains.ns)} a step (${percent(chains.ns / view.step)}), each reading and writing its whole tensor`,
        inMs(chains.ns),
        'ms/step',
      ),
    ],
    price,
    fix: {
      text: 'Let a compiler merge the chains: each tensor is then read and written once. The first steps are slow.',
      code: 'model = torch.compile(model)',
    },
  };
}

function fuseChains(view: TraceView, plan: Plan, level: Level): void {
  const { works } = plan;
  const fusable = (w: number) =>
    works.duration[w]! >= 0 && isFusable(view.facts.kernels[works.kernel[w]!]!, works.roles[w]!);
  for (let first = 0; first < works.length; first++) {
    if (!fusable(first)) continue;
    let last = first;
    let longest = works.duration[first]!;
    let total = longest;
    const follows = (w: number) =>
      w < works.length &&
      works.step[w] === works.step[first] &&
      works.stream[w] === works.stream[first] &&
      fusable(w);
    while (last - first + 1 < LONGEST_CHAIN && follows(last + 1)) {
      last++;
      longest = Math.max(longest, works.duration[last]!);
      total += works.duration[last]!;
    }
    const factor = Math.min(1, (longest * CHAIN_COST[level]) / total);
    for (let w = first; w <= last; w++) works.duration[w]! *= factor;
    first = last;
  }
}
