/**
 * A few steps as a graph that can be played again: what the host did between calls, which work each call started, what
 * each call waited for. Plain columns, so that a plan moves between threads and is copied cheaply to be edited.
 * Times in ns.
 */
export interface Plan {
  readonly nodes: PlanNodes;
  readonly works: PlanWorks;
  /** What a step launched is done at its frontier. One entry a step. */
  readonly steps: PlanSteps;
  /** When the first host work begins, and until when each stream is busy with earlier work, from the same zero. */
  readonly begin: number;
  readonly streamBusyUntil: Float64Array;
}

export const LAUNCH = 1;
export const SYNC = 2;

/** Calls of the host that start work or wait for it, in order of time over all training threads. */
export interface PlanNodes {
  readonly length: number;
  /** LAUNCH or SYNC. */
  readonly kind: Uint8Array;
  /** Host time since the previous call, by what it was: own work, waiting for input, compiling, collectives. */
  readonly hostWork: Float64Array;
  readonly data: Float64Array;
  readonly compile: Float64Array;
  readonly comms: Float64Array;
  /** Host time of the call itself, waiting left out. */
  readonly call: Float64Array;
  /** Of `hostWork`, what passed inside the operator that made the call; the rest is Python and what lies between. */
  readonly inOperator: Float64Array;
  /** Operators, runtime and driver calls recorded since the previous call, this one included. */
  readonly events: Uint32Array;
  /** Python frames (with_stack) recorded since. */
  readonly frames: Uint32Array;
  /** GPU kernels that the profiler records one by one although one call (a CUDA graph) started them all. */
  readonly graphKernels: Uint32Array;
  /** Roles of the call (detail/roles.ts). */
  readonly roles: Uint32Array;
  /** Place of the step. */
  readonly step: Int32Array;
  /** Range in `works`. */
  readonly firstWork: Uint32Array;
  readonly workCount: Uint32Array;
  /** The call returns only after this work has ended (a blocking copy, a full launch queue); −1: none. */
  readonly waitsFor: Int32Array;
  /** Host time after the end of what was waited for. */
  readonly returnLag: Float64Array;
  /** For SYNC: which work of each stream is waited for: `streams` entries a node, −1: none. */
  readonly awaited: Int32Array;
  /** Pieces of work launched and not yet done when the call began: 0 means that the device had run dry. */
  readonly queued: Uint32Array;
  /** Row of the call, for evidence. */
  readonly row: Uint32Array;
}

/** GPU work in the order of its launch. */
export interface PlanWorks {
  readonly length: number;
  /** −1: removed by an edit. */
  readonly duration: Float64Array;
  readonly stream: Uint8Array;
  /** From the call's start to the earliest possible start. */
  readonly latency: Float64Array;
  /** From the end of the stream's previous work to the earliest start: negative where kernels overlap. */
  readonly gap: Float64Array;
  /** Work of another stream that must end first, and the time after it; −1: none. */
  readonly after: Int32Array;
  readonly afterGap: Float64Array;
  /** Place of its kind in the facts' list of kernels (name and what it is). */
  readonly kernel: Uint32Array;
  readonly roles: Uint32Array;
  readonly bytes: Float64Array;
  /** What it counts as in time accounting (timeline/work-sorts.ts). */
  readonly sort: Uint8Array;
  readonly step: Int32Array;
  /** Place in the model: the row, for evidence. */
  readonly row: Uint32Array;
}

export interface PlanSteps {
  readonly length: number;
  readonly index: Int32Array;
  readonly hostStart: Float64Array;
  readonly frontier: Float64Array;
  /** Whether the first step counts too, instead of time counting from its frontier. */
  readonly wholeFirst: boolean;
  /** Where it begins then: with the host's start of it, or with the end of the device's earlier work. */
  readonly begin: number;
}

/** Steps that the plan's time is divided by. */
export function periodsOf(steps: PlanSteps): number {
  return steps.wholeFirst ? steps.length : steps.length - 1;
}

/** A copy whose figures may be changed. */
export function copyPlan(plan: Plan): Plan {
  const { nodes, works } = plan;
  return {
    ...plan,
    nodes: {
      ...nodes,
      hostWork: nodes.hostWork.slice(),
      data: nodes.data.slice(),
      compile: nodes.compile.slice(),
      comms: nodes.comms.slice(),
      call: nodes.call.slice(),
      inOperator: nodes.inOperator.slice(),
      frames: nodes.frames.slice(),
      events: nodes.events.slice(),
      graphKernels: nodes.graphKernels.slice(),
      waitsFor: nodes.waitsFor.slice(),
      awaited: nodes.awaited.slice(),
    },
    works: { ...works, duration: works.duration.slice() },
  };
}
