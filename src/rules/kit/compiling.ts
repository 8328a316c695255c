import { oncePer } from '../../base/once-per.js';
import { formatMs, formatPercent, type Ns, share, toUs, us } from '../../base/units.js';
import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import { addHostPerStep, scaleHost } from '../../replay/edits.js';
import type { Plan } from '../../replay/plan.js';
import { LEAST_PAUSE_NS } from '../../traces/detail/pauses.js';
import { Role } from '../../traces/detail/roles.js';
import { timeEvidence } from './evidence.js';
import type { Evidence } from './finding.js';
import { isFusable, isSimple, OUTSIDE_MODEL, priceOfFusing } from './fusable.js';
import { fallsBackToEager, IDLE, idleForLaunches } from './host.js';
import { fuseOptimizer, isUnfusedOptimizer, optimizerOf, parametersOf } from './optimizer.js';
import { isWorthwhile, priceOf } from './price.js';
import { type Edit, type Level, type Levels, type Price, type Silent, silent, threshold } from './rule.js';
import { askOnce, editWork, has, medianKernel, type Piece, piecesOf } from './work.js';

/** Loops that wait for launches, and what compiling the model gains them, without and with CUDA graphs. */

export const LAUNCHES = threshold('launches', 30, 'a step', 'fewer cannot be fused to a gain');
export const SHORT_KERNEL = threshold(
  'short kernel, median',
  us(30),
  'µs',
  'host cost of an eager operator: 5–20 µs',
);
/** CUDA graphs are in use from this part of the kernels on. */
const IN_GRAPHS = 0.3;

/** Evidence that the GPU waits for launches. */
export function waitsForLaunches(view: TraceView): { readonly evidence: Evidence } | Silent {
  const fusing = priceOfFusing(view);
  if ('price' in fusing && isWorthwhile(fusing.price))
    return silent('the GPU is busy with elementwise kernels');
  const plan = view.facts.detail?.plan;
  const typical = medianKernel(view);
  if (!plan || typical === null) return silent('launches were not recorded');
  if (plan.nodes.graphKernels.reduce((a, b) => a + b, 0) > IN_GRAPHS * plan.works.length)
    return silent('CUDA graphs are already in use');
  const idle = idleForLaunches(view);
  if (idle < IDLE.value) return silent(`the GPU waits for the host ${formatPercent(idle)} of the step`);
  const launches = plan.works.length / plan.steps.length;
  if (launches < LAUNCHES.value) return silent(`only ${launches.toFixed(0)} launches per step`);
  if (fallsBackToEager(view))
    return silent('torch.compile is in use but falls back to eager: see recompiles');
  if (toUs(typical) > SHORT_KERNEL.value)
    return silent(`kernels are long enough (median ${formatMs(typical)})`);
  return { evidence: launchEvidence(view, plan, launches, typical) };
}

function launchEvidence(view: TraceView, { nodes }: Plan, launches: number, typical: Ns): Evidence {
  const emptyQueue = share(nodes.queued.reduce((n, q) => n + Number(q === 0), 0) / nodes.length);
  const text = `the GPU waits for launches ${formatPercent(idleForLaunches(view))} of the step: ${launches.toFixed(0)} launches per step, median kernel ${toUs(typical).toFixed(1)} µs, ${formatPercent(emptyQueue)} of launches found an empty queue`;
  return timeEvidence(view, view.time.idle_host, text);
}

/**
 * Launches that a compiler leaves of one launch, by what it does: it merges elementwise work, splits the backward of norms
 * and reductions in two or three, and keeps casts of parameters. The host time left follows their number (accuracy of four
 * loops on an H200, host left, predicted / measured: 0.92/0.90, 0.77/0.79, 0.78/0.79, 0.48/0.47). All else stays: 1.
 */
const LAUNCHES_LEFT: Readonly<Record<string, number>> = {
  elementwise: 0.12,
  layout: 0.12,
  cast: 0.5,
  fill: 0.5,
  reduction: 2,
};
const NORM_BACKWARD_LEFT = 2.5;
/** How far a model may be from those loops. */
const LEFT_SPREAD: Levels = { low: 1.1, likely: 1, high: 0.85 };

/** Part of the model's launches that compiling leaves. */
export function launchesLeft(view: TraceView): number {
  const { list } = piecesOf(view, ({ roles }) => inModel(roles));
  const left = list.reduce((sum, piece) => sum + launchesLeftOf(piece), 0);
  return list.length > 0 ? Math.min(1, left / list.length) : 1;
}

function launchesLeftOf({ kernel, roles }: Pick<Piece, 'kernel' | 'roles'>): number {
  if (kernel.class === 'norm' && has(roles, Role.backward)) return NORM_BACKWARD_LEFT;
  // cuDNN transposes inside its convolutions, which no compiler looks into.
  return kernel.source === 'cudnn' ? 1 : (LAUNCHES_LEFT[kernel.class] ?? 1);
}

const inModel = (roles: number) => !has(roles, OUTSIDE_MODEL);

/** Chains of elementwise kernels become one that reads and writes once. Norms are one kernel before and after. */
const ELEMENTWISE_LEFT: Levels = { low: 1, likely: 0.6, high: 0.4 };

/** Plain torch.compile: fewer launches, each by itself. */
export function compileModel(view: TraceView): Edit {
  const left = launchesLeft(view);
  return (plan, level) => {
    scaleModel(plan, Math.min(1, left * LEFT_SPREAD[level]));
    mergeKernels(view, plan, level);
  };
}

/** Merged kernels take less time, and there is no gap before the part of another one. */
function mergeKernels(view: TraceView, plan: Plan, level: Level): void {
  editWork(view, plan, isSimple, ({ ns }) => ns * ELEMENTWISE_LEFT[level]);
  const { works } = plan;
  const { groupOf, answers } = askOnce(view.facts, plan, (kernel, roles) =>
    isFusable(kernel, roles) ? launchesLeftOf({ kernel, roles }) : 1,
  );
  let kept = 0;
  for (let w = 0; w < works.length; w++) {
    const left = answers[groupOf[w]!]!;
    if (left >= 1) continue;
    kept += left;
    if (kept >= 1) kept -= 1;
    else works.gap[w] = Math.min(works.gap[w]!, 0);
  }
}

export const priceCompiled = (view: TraceView): Price | null => priceOf(view, compileModel(view));

/** Scales the host time of forward and backward. Pauses are not the model's: no compiler shortens them. */
function scaleModel(plan: Plan, factor: number): void {
  const { roles, hostWork } = plan.nodes;
  const pauses = hostWork.map((time) => (time < LEAST_PAUSE_NS ? 0 : time));
  for (let n = 0; n < hostWork.length; n++) hostWork[n]! -= pauses[n]!;
  scaleHost(plan, (n) => inModel(roles[n]!), factor);
  for (let n = 0; n < hostWork.length; n++) hostWork[n]! += pauses[n]!;
}

/** Part of forward's and backward's host time that CUDA graphs leave: what is outside the compiled model. */
const OUTSIDE_GRAPHS: Levels = { low: 0.1, likely: 0.03, high: 0.02 };
/**
 * Guards and a graph launch for each pass; parameters checked and gradients handed over one by one. Clean recordings:
 * infer_small_graphs takes 0.7 ms in all, launch_compiled 2.8 ms for forward and backward with 98 gradients.
 */
const HOST_PER_PASS_NS = 300_000;
const HOST_PER_GRADIENT_NS = 14_000;
const OVERHEAD: Levels = { low: 1.5, likely: 1, high: 0.6 };

/** Forward and backward as two graphs; the optimizer fused where it is not. */
export const priceWithGraphs = oncePer((view: TraceView) =>
  priceOf(view, (plan, level) => {
    const { roles } = plan.nodes;
    scaleModel(plan, OUTSIDE_GRAPHS[level]);
    const hasBackward = roles.some((r) => has(r, Role.backward));
    const gradients = hasBackward ? HOST_PER_PASS_NS + parametersOf(view) * HOST_PER_GRADIENT_NS : 0;
    addHostPerStep(plan, (n) => inModel(roles[n]!), (HOST_PER_PASS_NS + gradients) * OVERHEAD[level]);
    mergeKernels(view, plan, level);
    if (isUnfusedOptimizer(optimizerOf(view))) fuseOptimizer(view, plan, level);
  }),
);
