import {
  amount,
  checked,
  exactly,
  flag,
  list,
  nullable,
  number,
  object,
  oneOf,
  type Shape,
  text,
  whole,
} from '../../base/shape.js';
import { type Accelerator, DEVICE_KINDS } from '../../facts/accelerator.js';
import type { Precision } from '../../facts/device-rates.js';
import type { CopyTime } from '../../facts/rank-facts.js';
import {
  below,
  collectivesShape,
  dividesInto,
  sameLength,
  stepsShape,
  timelineShape,
  timeShape,
} from '../../facts/rank-shapes.js';
import type { StepRange } from '../../facts/step-facts.js';
import type { Plan } from '../../replay/plan.js';
import { planShape } from '../../replay/plan-shape.js';
import type { DeviceCounters } from '../detail/device-counters.js';
import type { HardwareUse, ShapedWork } from '../detail/hardware-use.js';
import type { InputFacts } from '../detail/input-facts.js';
import type { KernelGrid, KernelTotal } from '../detail/kernel-table.js';
import type { LoaderQueue } from '../detail/loader-queue.js';
import type { OperatorTotal } from '../detail/operators.js';
import type { Pause, Pauses } from '../detail/pauses.js';
import type { CopyDirection, CopyKind, KernelSource, WorkClass } from '../kernels/kernel-kind.js';
import { ENGINES, type Program, TASKS } from '../program.js';
import type { GpuUnions } from '../timeline/gpu-unions.js';
import type { OneOffStep } from '../timeline/one-off.js';
import type { StartUp } from '../timeline/start-up.js';
import type { TraceFacts } from '../trace-facts.js';
import { deviceShape } from './summary-shape.js';

/** Every name of a union type, and no other. */
const namesOf = <T extends string>(names: Readonly<Record<T, true>>) => Object.keys(names) as T[];

// biome-ignore format: lists
const CLASSES = namesOf<WorkClass>({
  gemm: true, conv: true, attention: true, softmax: true, norm: true, pool: true, rnn: true, elementwise: true,
  reduction: true, optimizer: true, layout: true, cast: true, fill: true, index: true, random: true, sort: true, loss: true,
  fft: true, comms: true, copy: true, wait: true, other: true,
});
// biome-ignore format: lists
const SOURCES = namesOf<KernelSource>({
  cublas: true, cutlass: true, cudnn: true, triton: true, aten: true, cub: true, nccl: true, rccl: true, nvshmem: true,
  rocblas: true, miopen: true, ck: true, aiter: true, flash: true, flashinfer: true, 'tensorrt-llm': true, vllm: true,
  sglang: true, deepgemm: true, deepep: true, 'transformer-engine': true, apex: true, fbgemm: true, runtime: true,
  unknown: true,
});
// biome-ignore format: lists
const PRECISIONS = namesOf<Precision>({
  fp64: true, fp32: true, tf32: true, fp16: true, bf16: true, fp8: true, fp4: true, int8: true, unknown: true,
});
// biome-ignore format: lists
const DIRECTIONS = namesOf<CopyDirection>({
  HtoD: true, DtoH: true, DtoD: true, PtoP: true, HtoH: true, unknown: true,
});

const copyShape = object<CopyKind>({
  direction: oneOf(DIRECTIONS),
  hostMemory: nullable(oneOf(['pageable', 'pinned'])),
});

const kernelShape = object<KernelTotal>({
  class: oneOf(CLASSES),
  precision: oneOf(PRECISIONS),
  tensorCore: nullable(flag),
  fused: flag,
  source: oneOf(SOURCES),
  layout: nullable(oneOf(['nchw', 'nhwc'])),
  copy: nullable(copyShape),
  name: text,
  count: whole(),
  total: amount(),
  bytes: amount(),
  longestTs: number(),
  longest: amount(),
  grids: list(object<KernelGrid>({ grid: text, count: whole(), total: amount() })),
});

const operatorShape = object<OperatorTotal>({
  name: text,
  count: whole(),
  total: amount(),
  self: amount(),
  roles: amount(),
  longest: amount(),
  longestSelf: amount(),
});

/** Facts in two parts: light facts, which comparing ranks needs, and what pricing needs besides. */

export const rangeShape = object<StepRange>({ first: nullable(whole()), last: nullable(whole()) });

interface Span {
  readonly ts: number;
  readonly dur: number;
}
const spanShape = object<Span>({ ts: number(), dur: amount() });

const oneOffShape = object<OneOffStep>({
  index: number(),
  ts: number(),
  dur: amount(),
  usual: amount(),
  others: whole(),
  without: rangeShape,
  extraWork: whole(),
});

const gpuShape = object<GpuUnions>({
  span: amount(),
  compute: amount(),
  nonCompute: amount(),
  idle: amount(),
  commOverlap: nullable(amount()),
});

const inputShape = object<InputFacts>({
  inMain: whole(),
  inWorkers: whole(),
  inferred: whole(),
  queue: nullable(object<LoaderQueue>({ taken: amount(), delivered: amount(), deliveredUnasked: amount() })),
  waitPerStep: list(amount()),
  longest: nullable(spanShape),
  restarts: list(spanShape),
  name: nullable(text),
  compile: object<InputFacts['compile']>({ ns: amount(), count: whole(), name: nullable(text) }),
});

const pausesShape = object<Pauses>({
  count: whole(),
  inSteps: whole(),
  total: amount(),
  longest: nullable(object<Pause>({ ts: number(), dur: amount(), step: number() })),
  inCall: nullable(object<NonNullable<Pauses['inCall']>>({ name: text, time: amount() })),
});

const hardwareShape = object<HardwareUse>({
  works: list(
    object<ShapedWork>({
      operator: text,
      shapes: text,
      kernel: text,
      class: oneOf(CLASSES),
      precision: oneOf(PRECISIONS),
      calls: whole(),
      total: amount(),
      flops: amount(),
      bytes: amount(),
    }),
  ),
  total: amount(),
});

const withoutPlan: Shape<Plan | null> = exactly(null);

export const lightFactsShape: Shape<TraceFacts> = checked(
  object<TraceFacts>({
    source: exactly('trace'),
    phases: exactly(null),
    light: exactly(true),
    device: nullable(deviceShape),
    accelerator: object<Accelerator>({
      kind: oneOf(DEVICE_KINDS),
      byNsys: flag,
      kernels: whole(),
      unread: whole(),
    }),
    switches: list(text),
    unprofiledShare: nullable(number()),
    hasGpuWork: flag,
    hasHostEvents: flag,
    program: object<Program>({
      torch: flag,
      task: oneOf(TASKS),
      engine: nullable(oneOf(ENGINES)),
      captures: flag,
      served: object<Program['served']>({ prefill: whole(), decode: whole() }),
    }),
    steps: stepsShape,
    time: timeShape,
    timePerStep: list(timeShape),
    oneOff: nullable(oneOffShape),
    startUp: nullable(object<StartUp>({ time: amount(), steps: whole(), left: amount() })),
    copies: object<CopyTime>({ toDevice: amount(), toHost: amount() }),
    gpu: nullable(gpuShape),
    counters: nullable(
      object<DeviceCounters>({
        samples: whole(),
        sm: nullable(amount()),
        tensor: nullable(amount()),
        dram: nullable(amount()),
      }),
    ),
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
        recomputed: number(),
        viewTime: nullable(amount()),
        hardware: exactly(null),
      }),
    ),
  }),
  ({ steps, time, timePerStep }) =>
    sameLength(steps.count, timePerStep) ??
    dividesInto('classes', time, steps.recorded) ??
    firstFault(timePerStep, (one, i) => dividesInto('classes of a step', one, steps.periods[i]!)),
);

function firstFault<T>(
  items: readonly T[],
  faultOf: (item: T, index: number) => string | null,
): string | null {
  for (const [i, item] of items.entries()) {
    const fault = faultOf(item, i);
    if (fault !== null) return fault;
  }
  return null;
}

/** What light facts leave out. */
export interface FactsDetail {
  readonly kernels: readonly KernelTotal[];
  readonly operators: readonly OperatorTotal[];
  readonly plan: Plan | null;
  readonly hardware: HardwareUse | null;
}

export const detailShape: Shape<FactsDetail> = checked(
  object<FactsDetail>({
    kernels: list(kernelShape),
    operators: list(operatorShape),
    plan: nullable(planShape),
    hardware: nullable(hardwareShape),
  }),
  ({ plan, kernels }) => plan && below('kernel', plan.works.kernel, kernels.length),
);

export const detailOf = ({ kernels, detail }: TraceFacts): FactsDetail => ({
  kernels,
  operators: detail?.operators ?? [],
  plan: detail?.plan ?? null,
  hardware: detail?.hardware ?? null,
});

export const withDetail = (light: TraceFacts, { kernels, ...detail }: FactsDetail): TraceFacts => ({
  ...light,
  light: false,
  kernels,
  detail: light.detail && { ...light.detail, ...detail },
});
