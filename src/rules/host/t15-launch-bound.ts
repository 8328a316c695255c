import { median } from '../../base/statistics.js';
import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import { addHostPerStep, scaleHost, scaleWorks } from '../../replay/edits.js';
import { Role } from '../../traces/detail/roles.js';
import { isFusable, unfusedChains } from '../kit/fuse-elementwise.js';
import { evidence, idleForLaunches, inMs, ms, percent, priceOf, silent, worthwhile } from '../kit/kit.js';
import type { Edit, Level, TraceRule } from '../kit/rule.js';
import { fuseOptimizer, optimizerOf, parametersOf } from './fuse-optimizer.js';
import { fallsBackToEager } from './t16-recompiles.js';

const IDLE = 0.15;
const LAUNCHES = 30;
const SHORT_KERNEL_NS = 30_000;
/** Part of forward's and backward's host time that is left. low: compiled without CUDA graphs (zoo: 0.55–0.8). */
const HOST_LEFT: Readonly<Record<Level, number>> = { low: 0.6, likely: 0.05, high: 0.02 };
/** Guards and a graph launch for each pass, and gradients handed over one by one (zoo launch_compiled: 1.8 ms). */
const HOST_PER_PASS_NS = 500_000;
const HOST_PER_GRADIENT_NS = 8_000;
const OVERHEAD: Readonly<Record<Level, number>> = { low: 0, likely: 1, high: 0.6 };
/** Chains of elementwise kernels become one that reads and writes once. */
const ELEMENTWISE_LEFT: Readonly<Record<Level, number>> = { low: 1, likely: 0.6, high: 0.4 };

export const launchBound: TraceRule = {
  reads: 'traces',
  info: {
    id: 'T15',
    title: 'The GPU waits for launches: many short kernels, queue empty',
    needs: 'trace',
    looksFor:
      'The GPU idle because the host issues work more slowly than the GPU does it: short kernels, most launches find an empty queue.',
    why: 'Each operator costs the host 5–20 µs of Python and dispatch. Kernels shorter than that leave the GPU idle. torch.compile fuses them, CUDA graphs launch a whole pass at once.',
    fix: {
      text: 'Compile the model with CUDA graphs, and take a fused optimizer. Needs static shapes; the first steps are slow.',
      code: 'model = torch.compile(model, mode="reduce-overhead")\noptimizer = torch.optim.AdamW(model.parameters(), lr=lr, fused=True)',
    },
    check:
      'Compare the loss of a few hundred steps. Outputs of a CUDA graph are overwritten by the next step: clone what you keep.',
    cost: 'code',
    risk: 'numerics',
    thresholds: [
      { name: 'idle for the host', value: IDLE, unit: 'of the step', source: 'XProf: kernel launch 15 %' },
      { name: 'launches', value: LAUNCHES, unit: 'a step', source: 'fewer cannot be fused to a gain' },
      {
        name: 'short kernel, median',
        value: SHORT_KERNEL_NS / 1000,
        unit: 'µs',
        source: 'host cost of an eager operator: 5–20 µs',
      },
    ],
  },
  check(view) {
    const chains = unfusedChains(view);
    if (chains) return { findings: [chains] };
    const { detail } = view.facts;
    const plan = detail?.plan;
    if (!plan) return silent('launches were not recorded');
    const graphs = plan.nodes.graphKernels.reduce((a, b) => a + b, 0) / plan.works.length;
    if (graphs > 0.3) return silent('CUDA graphs are in use already');
    const idle = idleForLaunches(view);
    if (idle < IDLE) return silent(`the GPU waits for the host ${percent(idle)} of the step`);
    const launches = plan.works.length / plan.steps.length;
    if (launches < LAUNCHES) return silent(`only ${launches.toFixed(0)} launches a step`);
    if (fallsBackToEager(view)) return silent('torch.compile is in use but falls back to eager: see T16');
    const short = median(plan.works.duration);
    if (short > SHORT_KERNEL_NS) return silent(`kernels are long enough (median ${ms(short)})`);
    const price = priceOf(view, compile(view));
    if (price && !worthwhile(price)) return silent('fusing would not shorten the step');
    const dry = plan.nodes.queued.reduce((n, q) => n + Number(q === 0), 0) / plan.nodes.length;
    const compiled = (view.facts.detail?.operators ?? []).some((o) => (o.roles & Role.compiled) !== 0);
    const optimizer = optimizerOf(view).kind;
    return {
      findings: [
        {
          id: 'launch-bound',
          title: compiled
            ? 'compiled, but every kernel is still launched by itself'
            : 'the host launches many short kernels one by one',
          confidence: 0.9,
          addresses: 'host',
          evidence: [
            evidence(
              view,
              `GPU idle ${percent(idle)} of the step for the host: ${launches.toFixed(0)} launches a step, median kernel ${(short / 1000).toFixed(1)} µs, ${percent(dry)} of launches found an empty queue`,
              inMs(view.time.idle_host),
              'ms/step',
            ),
          ],
          price,
          fix: {
            text: `${compiled ? 'The model is compiled: add CUDA graphs' : 'Compile the model with CUDA graphs'}${optimizer === 'for-loop' || optimizer === 'foreach' ? ', and take a fused optimizer (included in the gain)' : ''}. Needs static shapes; the first steps are slow. Without graphs expect the low end.`,
            code: `model = torch.compile(model, mode="reduce-overhead")${optimizer === 'for-loop' || optimizer === 'foreach' ? '\noptimizer = torch.optim.AdamW(model.parameters(), lr=lr, fused=True)' : ''}`,
          },
        },
      ],
    };
  },
};

const OUTSIDE = Role.optimizer | Role.zeroGrad | Role.data;

/** Forward and backward as two graphs; the optimizer fused where it is not. */
function compile(view: TraceView): Edit {
  return (plan, level) => {
    const inModel = (n: number) => (plan.nodes.roles[n]! & OUTSIDE) === 0;
    scaleHost(plan, inModel, HOST_LEFT[level]);
    const trains = plan.nodes.roles.some((r) => (r & Role.backward) !== 0);
    const gradients = trains ? HOST_PER_PASS_NS + parametersOf(view) * HOST_PER_GRADIENT_NS : 0;
    addHostPerStep(plan, inModel, (HOST_PER_PASS_NS + gradients) * OVERHEAD[level]);
    const { works } = plan;
    scaleWorks(
      plan,
      (w) => isFusable(view.facts.kernels[works.kernel[w]!]!, works.roles[w]!),
      ELEMENTWISE_LEFT[level],
    );
    const { kind } = optimizerOf(view);
    if (level !== 'low' && (kind === 'for-loop' || kind === 'foreach')) fuseOptimizer(view, plan, level);
  };
}
