import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import type { Plan } from '../../replay/plan.js';
import { Role } from '../../traces/detail/roles.js';
import { workTime } from '../kit/kit.js';
import type { Level } from '../kit/rule.js';

/** What a fused optimizer leaves: Python collects the parameters, then a few kernels run (zoo: 13 µs a parameter profiled). */
const HOST_PER_PARAMETER: Readonly<Record<Level, number>> = { low: 16_000, likely: 11_000, high: 8_000 };
const HOST_PER_STEP_NS = 100_000;
/** Of the GPU time of a for-loop's kernels: each tensor is read and written once instead of in every operation. */
const GPU_LEFT: Readonly<Record<Level, number>> = { low: 0.4, likely: 0.2, high: 0.15 };

const inOptimizer = (roles: number) => (roles & Role.optimizer) !== 0;

export type OptimizerKind = 'fused' | 'foreach' | 'for-loop' | 'none';

export interface OptimizerFacts {
  readonly kind: OptimizerKind;
  readonly launches: number;
  readonly gpu: number;
  readonly parameters: number;
}

/** A loop over parameters makes several launches for each; lists of tensors go in a few. */
const FOR_LOOP_LAUNCHES = 40;

export function optimizerOf(view: TraceView): OptimizerFacts {
  const all = workTime(view, (_, roles) => inOptimizer(roles));
  const fused = workTime(
    view,
    (k, roles) =>
      inOptimizer(roles) && /Fused(?:Adam|Sgd|Adagrad)|FusedAdam|fused_adam/i.test(k.name.slice(0, 400)),
  );
  const lists = workTime(
    view,
    (k, roles) => inOptimizer(roles) && /multi_tensor_apply/.test(k.name.slice(0, 400)),
  );
  const loose = all.count - lists.count;
  const kind =
    all.count === 0
      ? 'none'
      : fused.count > 0
        ? 'fused'
        : loose >= FOR_LOOP_LAUNCHES && loose > lists.count
          ? 'for-loop'
          : lists.count > 0
            ? 'foreach'
            : 'none';
  return { kind, launches: all.count, gpu: all.ns, parameters: parametersOf(view) };
}

/** Tensors that get a gradient. */
export function parametersOf(view: TraceView): number {
  const { detail } = view.facts;
  const accumulations = detail?.operators.find((o) => o.name === 'torch::autograd::AccumulateGrad');
  return accumulations && detail ? accumulations.count / detail.steps : 0;
}

/** The optimizer's many launches become a few. */
export function fuseOptimizer(view: TraceView, plan: Plan, level: Level): void {
  const { nodes, works } = plan;
  const { kind, parameters } = optimizerOf(view);
  let step = -1;
  for (let n = 0; n < nodes.length; n++) {
    if (!inOptimizer(nodes.roles[n]!)) continue;
    const first = nodes.step[n] !== step;
    step = nodes.step[n]!;
    if (first) {
      // What lies before the first launch stays; a loop's share of it is what collecting the parameters takes.
      if (kind === 'for-loop')
        nodes.hostWork[n]! += HOST_PER_STEP_NS + parameters * HOST_PER_PARAMETER[level];
      continue;
    }
    nodes.hostWork[n] = 0;
    nodes.inOperator[n] = 0;
    nodes.call[n] = 0;
    nodes.events[n] = 0;
    nodes.frames[n] = 0;
  }
  if (kind !== 'for-loop') return;
  for (let w = 0; w < works.length; w++)
    if (inOptimizer(works.roles[w]!)) works.duration[w]! *= GPU_LEFT[level];
}
