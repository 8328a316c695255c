import { oncePer } from '../../base/once-per.js';
import { largest } from '../../base/statistics.js';
import { formatPercent, ns, share } from '../../base/units.js';
import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import { removeOperators } from '../../replay/edits.js';
import type { Plan } from '../../replay/plan.js';
import type { KernelTotal } from '../../traces/detail/kernel-table.js';
import { Role } from '../../traces/detail/roles.js';
import { silentBelow } from './evidence.js';
import { IDLE, idleForLaunches, runsCompiled } from './host.js';
import { priceOf } from './price.js';
import { type Level, type Levels, type Price, type Silent, silent, threshold, WITHIN_NOISE } from './rule.js';
import { has, isMatrixWork, REMOVED, type WorkTest, type WorkTime, workTime } from './work.js';

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

/** Kernels that a compiler merges with their neighbors: they only read, compute a little, and write. */

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
  'from it on they set the pace, even if the GPU also waits for launches',
);
export const SURE = threshold(
  'saved even if a merged chain takes three times its longest kernel',
  share(0.1),
  'of the step',
  'models of library norms and activations save less; compiling was measured for one of them (zoo: ×1.15)',
);
const LONGEST_CHAIN = 40;
/**
 * A chain as one kernel, for each ns of its longest member: more for what the others read and what is kept for backward, less
 * where members convert to fp32 and back, which one kernel does without. Pairs of the zoo ask for 1.2 (`llama_eager`), 1.2
 * (`lora_plain`), 1.3 (`accumulation_large`) and 0.65 (`vocabulary_50304`).
 */
const CHAIN_COST: Levels = { low: 3, likely: 1.25, high: 0.65 };
/** A long chain moves at least this part of what its kernels move: `elementwise_big`, thirty in a chain, keeps 0.12. */
const CHAIN_LEFT: Levels = { low: 0.15, likely: 0.12, high: 0.08 };
/** By the names of torch's and cuDNN's kernels. An instance norm runs them too. */
export const isBatchNorm = (k: KernelTotal): boolean =>
  k.class === 'norm' && /batch_?norm|bn_/i.test(k.name.slice(0, 300));
/** Norms over pictures need a pass for their statistics. What compiling gains them was not measured. */
const PICTURE_CHAIN_COST: Levels = { low: 3, likely: 2, high: 1 };
const isPictureNorm = (k: KernelTotal, roles: number) =>
  isBatchNorm(k) || (k.class === 'norm' && has(roles, Role.nchwNorm));

interface Fusing {
  readonly price: Price | null;
  /** Kernels in chains, and how many chains they are, a step. */
  readonly kernels: WorkTime;
  readonly chains: number;
}

/** What fusing chains of elementwise kernels gains, if they keep the GPU busy. */
export const priceOfFusing = oncePer((view: TraceView): Fusing | Silent => {
  const plan = view.facts.detail?.plan;
  if (!plan) return silent('launches were not recorded');
  if (runsCompiled(view)) return silent('the model is already compiled');
  const idle = idleForLaunches(view);
  const setPace = workTime(view, isSimple).ns >= ELEMENTWISE.value * view.step.unprofiled;
  if (!setPace && idle >= IDLE.value)
    return silent(`the GPU waits for the host ${formatPercent(idle)} of the step`);
  const steps = plan.steps.length;
  const chains = chainsOf(view, plan);
  const perStep = (of: (chain: Chain) => number) => chains.reduce((sum, chain) => sum + of(chain), 0) / steps;
  const sure = perStep((chain) => durationOf(plan, chain) - fusedNs(plan, chain, 'low'));
  const small = silentBelow(view, ns(sure), SURE, 'merging chains of elementwise kernels surely saves');
  if (small) return small;
  return {
    price: priceOf(view, (edited, level) => fuseChains(view, edited, level)),
    kernels: {
      ns: ns(perStep((chain) => durationOf(plan, chain))),
      count: perStep(({ first, end }) => end - first),
    },
    chains: chains.length / steps,
  };
});

/** Neighbors of one stream that a compiler makes one kernel: works from `first` to `end`. */
interface Chain {
  readonly first: number;
  readonly end: number;
  readonly cost: Levels;
}

function chainsOf(view: TraceView, { works }: Plan): Chain[] {
  const kernel = (w: number) => view.facts.kernels[works.kernel[w]!]!;
  const counts = outsideUnfusedAttention(view, isFusable);
  const joins = (w: number) => works.duration[w]! >= 0 && counts(kernel(w), works.roles[w]!);
  const costOf = (first: number, end: number) => {
    for (let w = first; w < end; w++)
      if (isPictureNorm(kernel(w), works.roles[w]!)) return PICTURE_CHAIN_COST;
    return CHAIN_COST;
  };
  const chains: Chain[] = [];
  for (let first = 0; first < works.length; first++) {
    if (!joins(first)) continue;
    let end = first + 1;
    const follows = () =>
      end < works.length &&
      works.step[end] === works.step[first] &&
      works.stream[end] === works.stream[first] &&
      joins(end);
    while (end - first < LONGEST_CHAIN && follows()) end++;
    if (end - first > 1) chains.push({ first, end, cost: costOf(first, end) });
    first = end - 1;
  }
  const nearLoss = ({ first, end }: Chain) => {
    const last = Math.min(works.length, end + BESIDE_LOSS);
    for (let w = Math.max(0, first - BESIDE_LOSS); w < last; w++) if (isLoss(kernel(w))) return true;
    return false;
  };
  return chains.filter((chain) => !nearLoss(chain));
}

/**
 * The loss and metrics of the logits are mostly outside the compiled model, with the casts and slices around them (zoo
 * `llama_compiled`). They are left as they are, so that too little is promised rather than too much.
 */
const isLoss = (k: KernelTotal) => k.class === 'loss' || /LogSoftMax/.test(k.name.slice(0, 400));
/** Kernels between the loss and a chain that belongs to it: the loss has up to two. */
const BESIDE_LOSS = 2;

const durationsOf = ({ works }: Plan, { first, end }: Chain) => works.duration.subarray(first, end);
const durationOf = (plan: Plan, chain: Chain): number => durationsOf(plan, chain).reduce((a, b) => a + b, 0);

/** Duration of a chain as one kernel. */
function fusedNs(plan: Plan, chain: Chain, level: Level): number {
  const all = durationOf(plan, chain);
  const longest = largest(durationsOf(plan, chain));
  return Math.min(all, Math.max(longest * chain.cost[level], all * CHAIN_LEFT[level]));
}

/** Of each chain one kernel stays, with its launch. */
function fuseChains(view: TraceView, plan: Plan, level: Level): void {
  const { works, nodes } = plan;
  const merged = new Uint8Array(works.length);
  for (const chain of chainsOf(view, plan)) {
    works.duration[chain.first] = fusedNs(plan, chain, level);
    works.duration.fill(REMOVED, chain.first + 1, chain.end);
    merged.fill(1, chain.first + 1, chain.end);
  }
  removeOperators(plan, (n) => nodes.workCount[n] === 1 && merged[nodes.firstWork[n]!] === 1);
}
