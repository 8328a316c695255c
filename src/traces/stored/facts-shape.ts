import {
  checked,
  exactly,
  flag,
  list,
  nullable,
  number,
  object,
  type Shape,
  text,
  whole,
} from '../../base/shape.js';
import type { CopyTime } from '../../facts/rank-facts.js';
import {
  below,
  collectivesShape,
  sameLength,
  stepsShape,
  timelineShape,
  timeShape,
} from '../../facts/rank-shapes.js';
import type { StepRange } from '../../facts/step-facts.js';
import type { Plan } from '../../replay/plan.js';
import { planShape } from '../../replay/plan-shape.js';
import type { InputFacts } from '../detail/input-facts.js';
import type { KernelTotal } from '../detail/kernel-table.js';
import type { LoaderQueue } from '../detail/loader-queue.js';
import type { OperatorTotal } from '../detail/operators.js';
import type { Pause, Pauses } from '../detail/pauses.js';
import type { GpuUnions } from '../timeline/gpu-unions.js';
import type { OneOffStep } from '../timeline/one-off.js';
import type { StartUp } from '../timeline/start-up.js';
import type { TraceFacts } from '../trace-facts.js';
import { kernelShape, operatorShape } from './kernel-shapes.js';
import { deviceShape } from './summary-shape.js';

/** Facts in two parts: light facts, which comparing ranks needs, and what pricing needs besides. */

export const rangeShape = object<StepRange>({ first: nullable(whole()), last: nullable(whole()) });

interface Span {
  readonly ts: number;
  readonly dur: number;
}
const spanShape = object<Span>({ ts: number(), dur: number() });

const oneOffShape = object<OneOffStep>({
  index: number(),
  ts: number(),
  dur: number(),
  usual: number(),
  others: whole(),
  without: rangeShape,
});

const gpuShape = object<GpuUnions>({
  span: number(),
  compute: number(),
  nonCompute: number(),
  idle: number(),
  commOverlap: nullable(number()),
});

const inputShape = object<InputFacts>({
  inMain: whole(),
  inWorkers: whole(),
  inferred: whole(),
  queue: nullable(object<LoaderQueue>({ taken: number(), delivered: number(), deliveredUnasked: number() })),
  waitPerStep: list(number()),
  longest: nullable(spanShape),
  restarts: list(spanShape),
  name: nullable(text),
  compile: object<InputFacts['compile']>({ ns: number(), count: whole(), name: nullable(text) }),
});

const pausesShape = object<Pauses>({
  count: whole(),
  inSteps: whole(),
  total: number(),
  longest: nullable(object<Pause>({ ts: number(), dur: number(), step: number() })),
  inCall: nullable(object<NonNullable<Pauses['inCall']>>({ name: text, time: number() })),
});

const withoutPlan: Shape<Plan | null> = exactly(null);

export const lightFactsShape: Shape<TraceFacts> = checked(
  object<TraceFacts>({
    source: exactly('trace'),
    phases: exactly(null),
    light: exactly(true),
    device: nullable(deviceShape),
    switches: list(text),
    hasGpuWork: flag,
    hasHostEvents: flag,
    steps: stepsShape,
    time: timeShape,
    timePerStep: list(timeShape),
    oneOff: nullable(oneOffShape),
    startUp: nullable(object<StartUp>({ time: number(), steps: whole(), left: number() })),
    copies: object<CopyTime>({ toDevice: number(), toHost: number() }),
    gpu: nullable(gpuShape),
    collectives: nullable(collectivesShape),
    timeline: nullable(timelineShape),
    input: inputShape,
    kernels: list(kernelShape),
    detail: nullable(
      object<NonNullable<TraceFacts['detail']>>({
        plan: withoutPlan,
        steps: whole(),
        operators: list(operatorShape),
        events: whole(),
        frames: whole(),
        pauses: pausesShape,
      }),
    ),
  }),
  (f) => sameLength(f.steps.count, f.timePerStep),
);

/** What light facts leave out. */
export interface FactsDetail {
  readonly kernels: readonly KernelTotal[];
  readonly operators: readonly OperatorTotal[];
  readonly plan: Plan | null;
}

export const detailShape: Shape<FactsDetail> = checked(
  object<FactsDetail>({
    kernels: list(kernelShape),
    operators: list(operatorShape),
    plan: nullable(planShape),
  }),
  ({ plan, kernels }) => plan && below('kernel', plan.works.kernel, kernels.length),
);

export const detailOf = ({ kernels, detail }: TraceFacts): FactsDetail => ({
  kernels,
  operators: detail?.operators ?? [],
  plan: detail?.plan ?? null,
});

export const withDetail = (light: TraceFacts, { kernels, operators, plan }: FactsDetail): TraceFacts => ({
  ...light,
  light: false,
  kernels,
  detail: light.detail && { ...light.detail, operators, plan },
});
