/**
 * A few steps as a graph that can be replayed: what the host did between calls, which work each call started, and what
 * each call waited for. Plain columns: a plan moves between threads and is cheap to copy and edit. Times in ns.
 */
export interface Plan {
  readonly nodes: PlanNodes;
  readonly works: PlanWorks;
  readonly steps: PlanSteps;
  /** When the host begins, and until when each stream is busy with earlier work. */
  readonly begin: number;
  readonly streamBusyUntil: Float64Array;
  /** Ends of work launched before that was not done when the host began, in order of launch. */
  readonly earlierEnds: Float64Array;
  /** Host time after the last call, until the last step ends. */
  readonly tail: number;
  /** Time in which the loader's workers make the batch of a step, where steps wait for them: no step is shorter. 0: none waits. */
  pace: number;
}

export const LAUNCH = 1;
export const SYNC = 2;

/** Host calls that start GPU work or wait for it, in order of time over all training threads. */
export interface PlanNodes {
  readonly length: number;
  /** LAUNCH or SYNC. */
  readonly kind: Uint8Array;
  /** Host time since the previous call: own work, waiting for input, compiling, collectives. */
  readonly hostWork: Float64Array;
  readonly data: Float64Array;
  readonly compile: Float64Array;
  readonly comms: Float64Array;
  /** Operators, runtime and driver calls, and Python frames, recorded in `data`: input made on the training thread. */
  readonly dataEvents: Uint32Array;
  readonly dataFrames: Uint32Array;
  /** Host time of the call itself, without waiting. */
  readonly call: Float64Array;
  /** The part of `hostWork` inside the operator that made the call. The rest is Python. */
  readonly inOperator: Float64Array;
  /** The part of `hostWork` in operators that call nothing on the device and last: arithmetic on the host. */
  readonly arithmetic: Float64Array;
  /** Operators, runtime and driver calls recorded since the previous call, this one included, those in `data` left out. */
  readonly events: Uint32Array;
  /** Python frames (with_stack) recorded since the previous call, those in `data` left out. */
  readonly frames: Uint32Array;
  /** Kernels of a CUDA graph: one call starts them all, but the profiler records each. */
  readonly graphKernels: Uint32Array;
  /** 1: the call starts a Triton kernel. */
  readonly tritonLaunches: Uint8Array;
  /** Roles of the call (traces/detail/roles.ts). */
  readonly roles: Uint32Array;
  /** Index of the step in the plan. */
  readonly step: Int32Array;
  /** Range in `works`. */
  readonly firstWork: Uint32Array;
  readonly workCount: Uint32Array;
  /**
   * The work that must end before the call returns (a blocking copy, a full launch queue); −1: none. −2 is the last work
   * launched before the plan begins, −3 the one before, and so on.
   */
  readonly waitsFor: Int32Array;
  /** From the end of the awaited work to the return of the call. */
  readonly returnLag: Float64Array;
  /** For SYNC: the awaited work of each stream, `streamBusyUntil.length` entries per node; −1: none. */
  readonly awaited: Int32Array;
  /** Pieces of work launched and not yet done when the call began. 0: the device had run dry. */
  readonly queued: Uint32Array;
}

/** GPU work in the order of launches. */
export interface PlanWorks {
  readonly length: number;
  /** −1: removed by an edit. */
  readonly duration: Float64Array;
  readonly stream: Uint8Array;
  /** From the call's start to the earliest possible start. */
  readonly latency: Float64Array;
  /** From the end of the stream's previous work to the earliest start; negative where kernels overlap. */
  readonly gap: Float64Array;
  /** Work of another stream that must end first, and the time from its end to the start; −1: none. */
  readonly after: Int32Array;
  readonly afterGap: Float64Array;
  /** Index in `TraceFacts.kernels`. */
  readonly kernel: Uint32Array;
  readonly roles: Uint32Array;
  readonly bytes: Float64Array;
  /** WorkSort: what it counts as in time accounting. */
  readonly sort: Uint8Array;
  readonly step: Int32Array;
}

export interface PlanSteps {
  readonly length: number;
  /** The first step counts too. False: time counts from its frontier, when the device has done all its work. */
  readonly includesFirst: boolean;
  /** Where the first step begins: when the host starts it, or when the device ends its earlier work. */
  readonly begin: number;
}

/** How many steps count. */
export function countedSteps(steps: PlanSteps): number {
  return steps.includesFirst ? steps.length : steps.length - 1;
}

/** `waitsFor` of work launched before the plan: `back` is 0 for the last of it. */
export const waitForEarlier = (back: number): number => -2 - back;

type Column = Float64Array | Uint32Array | Int32Array | Uint8Array;

/** A copy for edits. Columns that say what the recording was are shared: no fix changes them. */
export const copyPlan = (plan: Plan): Plan => rebuilt(plan, (column) => column.slice() as typeof column);

/**
 * The same plan as the kind of object that copies are. Code that V8 has optimized for one kind is thrown away when it meets
 * another, and replays are most of what follows.
 */
export const likeCopies = (plan: Plan): Plan => rebuilt(plan, (column) => column);

/** All plans are made here, so that their properties have one order. */
function rebuilt(plan: Plan, edited: <T extends Column>(column: T) => T): Plan {
  const { nodes, works } = plan;
  return {
    nodes: {
      length: nodes.length,
      kind: nodes.kind,
      hostWork: edited(nodes.hostWork),
      data: edited(nodes.data),
      dataEvents: edited(nodes.dataEvents),
      dataFrames: edited(nodes.dataFrames),
      compile: edited(nodes.compile),
      comms: edited(nodes.comms),
      call: edited(nodes.call),
      inOperator: edited(nodes.inOperator),
      arithmetic: edited(nodes.arithmetic),
      events: edited(nodes.events),
      frames: edited(nodes.frames),
      graphKernels: edited(nodes.graphKernels),
      tritonLaunches: edited(nodes.tritonLaunches),
      roles: nodes.roles,
      step: nodes.step,
      firstWork: nodes.firstWork,
      workCount: nodes.workCount,
      waitsFor: edited(nodes.waitsFor),
      returnLag: edited(nodes.returnLag),
      awaited: edited(nodes.awaited),
      queued: nodes.queued,
    },
    works: {
      length: works.length,
      duration: edited(works.duration),
      stream: works.stream,
      latency: edited(works.latency),
      gap: edited(works.gap),
      after: edited(works.after),
      afterGap: edited(works.afterGap),
      kernel: works.kernel,
      roles: works.roles,
      bytes: works.bytes,
      sort: works.sort,
      step: works.step,
    },
    steps: plan.steps,
    begin: plan.begin,
    streamBusyUntil: plan.streamBusyUntil,
    earlierEnds: plan.earlierEnds,
    tail: plan.tail,
    pace: plan.pace,
  };
}
