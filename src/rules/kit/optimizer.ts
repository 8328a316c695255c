import { oncePer } from '../../base/once-per.js';
import type { Ns } from '../../base/units.js';
import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import type { Plan } from '../../replay/plan.js';
import { Role } from '../../traces/detail/roles.js';
import { callOncePerStep, operatorsOf } from './host.js';
import { type Level, type Levels, threshold } from './rule.js';
import { editWork, has, workTime } from './work.js';

/** What a fused optimizer leaves: Python collects the parameters, then a few kernels run (zoo: 13 µs per parameter, profiled). */
const HOST_PER_PARAMETER: Levels = { low: 16_000, likely: 11_000, high: 8_000 };
const HOST_PER_STEP_NS = 100_000;
/** Of the GPU time of a for-loop's kernels: each tensor is read and written once instead of in every operation. */
const GPU_LEFT: Levels = { low: 0.4, likely: 0.2, high: 0.15 };

/** A loop over parameters makes several launches for each; lists of tensors need a few in all. */
export const FOR_LOOP_LAUNCHES = threshold(
  'launches of a for-loop',
  40,
  'a step',
  'foreach and fused make 2–20; a for-loop 3–14 for each parameter',
);

const inOptimizer = (roles: number) => has(roles, Role.optimizer);

export interface OptimizerFacts {
  readonly kind: 'fused' | 'foreach' | 'for-loop' | 'none';
  /** A step. */
  readonly launches: number;
  readonly gpu: Ns;
  readonly parameters: number;
}

export const optimizerOf = oncePer((view: TraceView): OptimizerFacts => {
  const named = (pattern: RegExp) =>
    workTime(view, (k, roles) => inOptimizer(roles) && pattern.test(k.name.slice(0, 400))).count;
  const all = workTime(view, (_, roles) => inOptimizer(roles));
  const lists = named(/multi_tensor_apply/);
  const others = all.count - lists;
  const kind = (): OptimizerFacts['kind'] => {
    if (all.count === 0) return 'none';
    if (named(/Fused(?:Adam|Sgd|Adagrad)|fused_adam/i) > 0) return 'fused';
    if (others >= FOR_LOOP_LAUNCHES.value && others > lists) return 'for-loop';
    return lists > 0 ? 'foreach' : 'none';
  };
  return { kind: kind(), launches: all.count, gpu: all.ns, parameters: parametersOf(view) };
});

/** Whether a fused implementation would replace it. */
export const isUnfusedOptimizer = ({ kind }: OptimizerFacts): boolean =>
  kind === 'for-loop' || kind === 'foreach';

/** Tensors that get a gradient. */
export function parametersOf(view: TraceView): number {
  const accumulations = operatorsOf(view).find((o) => o.name === 'torch::autograd::AccumulateGrad');
  return accumulations ? accumulations.count / view.facts.detail!.steps : 0;
}

/** The optimizer's many launches become a few. */
export function fuseOptimizer(view: TraceView, plan: Plan, level: Level): void {
  const { kind, parameters } = optimizerOf(view);
  const loops = kind === 'for-loop';
  // The time before the first launch stays. Of a loop that is one parameter; collecting the others comes on top.
  const extra = loops ? HOST_PER_STEP_NS + parameters * HOST_PER_PARAMETER[level] : 0;
  callOncePerStep(plan, (n) => inOptimizer(plan.nodes.roles[n]!), extra);
  if (loops)
    editWork(
      view,
      plan,
      (_, roles) => inOptimizer(roles),
      ({ ns }) => ns * GPU_LEFT[level],
    );
}
