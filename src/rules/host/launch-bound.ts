import { formatMs, formatPercent, share, toUs, us } from '../../base/units.js';
import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import { addHostPerStep, scaleHost } from '../../replay/edits.js';
import { Role } from '../../traces/detail/roles.js';
import { timeEvidence } from '../kit/evidence.js';
import { isFusable, OUTSIDE_MODEL, priceOfFusing } from '../kit/fusable.js';
import { fallsBackToEager, idleForLaunches, runsCompiled } from '../kit/host.js';
import { fuseOptimizer, isUnfusedOptimizer, optimizerOf, parametersOf } from '../kit/optimizer.js';
import { isWorthwhile, priceOf } from '../kit/price.js';
import { type Edit, found, type Levels, silent, type TraceRule, threshold } from '../kit/rule.js';
import { editWork, has, medianKernel } from '../kit/work.js';

const IDLE = threshold('idle for the host', share(0.15), 'of the step', 'XProf: kernel launch 15 %');
const LAUNCHES = threshold('launches', 30, 'a step', 'fewer cannot be fused to a gain');
const SHORT_KERNEL = threshold(
  'short kernel, median',
  us(30),
  'µs',
  'host cost of an eager operator: 5–20 µs',
);
/** CUDA graphs are in use from this part of the kernels on. */
const IN_GRAPHS = 0.3;
/** Part of forward's and backward's host time that is left. low: compiled without CUDA graphs (zoo: 0.55–0.8). */
const HOST_LEFT: Levels = { low: 0.6, likely: 0.05, high: 0.02 };
/** Guards and a graph launch for each pass, and gradients handed over one by one (zoo launch_compiled: 1.8 ms). */
const HOST_PER_PASS_NS = 500_000;
const HOST_PER_GRADIENT_NS = 8_000;
const OVERHEAD: Levels = { low: 0, likely: 1, high: 0.6 };
/** Chains of elementwise kernels become one that reads and writes once. */
const ELEMENTWISE_LEFT: Levels = { low: 1, likely: 0.6, high: 0.4 };

export const rule: TraceRule = {
  reads: 'traces',
  lines: /./,
  unpriced: 'allowed',
  info: {
    id: 'launch-bound',
    alias: 'T15',
    title: 'The GPU waits for launches: many short kernels, queue empty',
    needs: 'trace',
    looksFor:
      'The GPU idle because the host issues work more slowly than the GPU does it: short kernels, most launches find an empty queue.',
    why: 'Each operator costs the host 5–20 µs of Python and dispatch. Kernels shorter than that leave the GPU idle. torch.compile fuses them, CUDA graphs launch a whole pass at once.',
    fix: {
      text: 'Compile the model with CUDA graphs, and use a fused optimizer. Needs static shapes; the first steps are slow.',
      code: 'model = torch.compile(model, mode="reduce-overhead")\noptimizer = torch.optim.AdamW(model.parameters(), lr=lr, fused=True)',
    },
    check:
      'Compare the loss of a few hundred steps. Outputs of a CUDA graph are overwritten by the next step: clone what you keep.',
    cost: 'code',
    risk: 'numerics',
    thresholds: [IDLE, LAUNCHES, SHORT_KERNEL],
  },
  check(view) {
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
    if (launches < LAUNCHES.value) return silent(`only ${launches.toFixed(0)} launches a step`);
    if (fallsBackToEager(view))
      return silent('torch.compile is in use but falls back to eager: see recompiles');
    if (toUs(typical) > SHORT_KERNEL.value)
      return silent(`kernels are long enough (median ${formatMs(typical)})`);
    const emptyQueue = plan.nodes.queued.reduce((n, q) => n + Number(q === 0), 0) / plan.nodes.length;
    const compiled = runsCompiled(view);
    const fusesOptimizer = isUnfusedOptimizer(optimizerOf(view));
    const text = `GPU idle ${formatPercent(idle)} of the step for the host: ${launches.toFixed(0)} launches a step, median kernel ${toUs(typical).toFixed(1)} µs, ${formatPercent(share(emptyQueue))} of launches found an empty queue`;
    return found({
      id: 'launch-bound',
      title: compiled
        ? 'compiled, but every kernel is still launched by itself'
        : 'the host launches many short kernels one by one',
      confidence: 0.9,
      addresses: 'host',
      evidence: [timeEvidence(view, view.time.idle_host, text)],
      price: priceOf(view, compileWithGraphs(view)),
      fix: {
        text: `${compiled ? 'The model is compiled: add CUDA graphs' : 'Compile the model with CUDA graphs'}${fusesOptimizer ? ', and use a fused optimizer (included in the gain)' : ''}. Needs static shapes; the first steps are slow. Without graphs expect the low end.`,
        code: `model = torch.compile(model, mode="reduce-overhead")${fusesOptimizer ? '\noptimizer = torch.optim.AdamW(model.parameters(), lr=lr, fused=True)' : ''}`,
      },
    });
  },
};

/** Forward and backward as two graphs; the optimizer fused where it is not. */
function compileWithGraphs(view: TraceView): Edit {
  return (plan, level) => {
    const { roles } = plan.nodes;
    const inModel = (n: number) => !has(roles[n]!, OUTSIDE_MODEL);
    scaleHost(plan, inModel, HOST_LEFT[level]);
    const hasBackward = roles.some((r) => has(r, Role.backward));
    const gradients = hasBackward ? HOST_PER_PASS_NS + parametersOf(view) * HOST_PER_GRADIENT_NS : 0;
    addHostPerStep(plan, inModel, (HOST_PER_PASS_NS + gradients) * OVERHEAD[level]);
    editWork(view, plan, isFusable, ({ ns }) => ns * ELEMENTWISE_LEFT[level]);
    if (level !== 'low' && isUnfusedOptimizer(optimizerOf(view))) fuseOptimizer(view, plan, level);
  };
}
