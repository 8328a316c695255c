import { amount, checked, column, flag, number, object, type Shape, whole } from '../base/shape.js';
import { below, sameLength } from '../facts/rank-shapes.js';
import { LAUNCH, type Plan, type PlanNodes, type PlanSteps, type PlanWorks, SYNC } from './plan.js';

/** The shape of a plan that was written to a file. A replay of it reads only what is there. */

const f64 = column(Float64Array);
const amounts = column(Float64Array, { least: 0 });
const i32 = column(Int32Array);
const u32 = column(Uint32Array);
const u8 = column(Uint8Array);

/** A plan has a few steps: the largest of 130 recordings 10, with 13,374 nodes. A replay of this many takes seconds. */
const MOST_NODES = 1_000_000;
const MOST_STEPS = 10_000;

const nodesShape = object<PlanNodes>({
  length: whole(0, MOST_NODES),
  kind: u8,
  hostWork: amounts,
  data: amounts,
  dataEvents: u32,
  dataFrames: u32,
  compile: amounts,
  comms: amounts,
  call: amounts,
  inOperator: amounts,
  arithmetic: amounts,
  events: u32,
  frames: u32,
  graphKernels: u32,
  tritonLaunches: u8,
  roles: u32,
  step: i32,
  firstWork: u32,
  workCount: u32,
  waitsFor: i32,
  returnLag: f64,
  awaited: i32,
  queued: u32,
});

const worksShape = object<PlanWorks>({
  length: whole(0, MOST_NODES),
  duration: amounts,
  stream: u8,
  latency: amounts,
  gap: f64,
  after: i32,
  afterGap: f64,
  kernel: u32,
  roles: u32,
  bytes: amounts,
  sort: u8,
  step: i32,
});

const stepsShape = object<PlanSteps>({ length: whole(1, MOST_STEPS), includesFirst: flag, begin: number() });

export const planShape: Shape<Plan> = checked(
  object<Plan>({
    nodes: nodesShape,
    works: worksShape,
    steps: stepsShape,
    begin: number(),
    streamBusyUntil: f64,
    earlierEnds: f64,
    tail: amount(),
    pace: amount(),
  }),
  ({ nodes, works, steps, streamBusyUntil }) => {
    const { length: _, awaited, ...perNode } = nodes;
    const { length: __, ...perWork } = works;
    const streams = streamBusyUntil.length;
    const last = Float64Array.from(nodes.firstWork, (first, i) => first + nodes.workCount[i]!);
    return (
      sameLength(nodes.length, ...Object.values(perNode)) ??
      sameLength(nodes.length * streams, awaited) ??
      sameLength(works.length, ...Object.values(perWork)) ??
      below('kind', nodes.kind, SYNC + 1, LAUNCH) ??
      below('firstWork', last, works.length + 1) ??
      below('waitsFor', nodes.waitsFor, works.length, Number.NEGATIVE_INFINITY) ??
      below('awaited', awaited, works.length, Number.NEGATIVE_INFINITY) ??
      below('stream', works.stream, streams) ??
      below('after', works.after, works.length, -1) ??
      below('step', nodes.step, steps.length, -1) ??
      below('step', works.step, steps.length, -1)
    );
  },
);
