import type { Trace } from '../../model/trace.js';
import type { HostTree } from '../detail/host-tree.js';
import type { KernelKind } from '../kernels/kernel-kind.js';
import type { GpuWork } from '../timeline/gpu-work.js';
import type { HostSpans } from '../timeline/host-spans.js';
import type { StepTime } from '../timeline/step-times.js';

export interface PlanInput {
  readonly trace: Trace;
  readonly kinds: readonly (KernelKind | undefined)[];
  /** From the string id of a kernel's name to its place in the list of kernels. */
  kernelOf(name: number): number;
  readonly work: GpuWork;
  /** For each piece of work the place of its step in the whole trace. */
  readonly stepOf: Int32Array;
  readonly host: HostSpans;
  readonly tree: HostTree;
  /** Consecutive steps, and the place of the first in the whole trace. */
  readonly steps: readonly StepTime[];
  readonly firstStep: number;
  /** Count the first step too, from where it begins. */
  readonly wholeFirst: boolean;
  readonly begin: number;
  /** Starts of recorded Python frames on the training threads. */
  readonly frames: Float64Array;
}

/** A call of the host that matters to the device. */
export interface Call {
  readonly row: number;
  /** Place in the host tree. */
  readonly place: number;
  readonly start: number;
  readonly end: number;
  /** Indices into the GPU work that it launched, in order of start. Empty: it synchronises. */
  readonly works: number[];
}
