import type { Trace } from '../../model/trace.js';
import type { HostTree } from '../detail/host-tree.js';
import type { KernelKinds } from '../kernels/kernel-kind.js';
import type { GpuWork } from '../timeline/gpu-work.js';
import type { HostSpans } from '../timeline/host-spans.js';
import type { StepTime } from '../timeline/step-times.js';

export interface PlanInput {
  readonly trace: Trace;
  readonly kinds: KernelKinds;
  /** Index in `TraceFacts.kernels` of a name, given by its string id. */
  kernelOf(name: number): number;
  readonly work: GpuWork;
  /** For each piece of work the index of its step; −1: none. */
  readonly stepOf: Int32Array;
  readonly host: HostSpans;
  readonly tree: HostTree;
  /** The first steps of the trace. */
  readonly steps: readonly StepTime[];
  /** Count the first step too, from `begin`. */
  readonly includesFirst: boolean;
  readonly begin: number;
  /** Step time that the loader's workers set (detail/worker-pace.ts); 0: they do not. */
  readonly pace: number;
  /** Starts of recorded Python frames on the training threads. */
  readonly frames: Float64Array;
}

/** A host call that starts GPU work or waits for it. */
export interface Call {
  readonly row: number;
  /** Index in the host tree; −1: not in it. */
  readonly index: number;
  readonly start: number;
  readonly end: number;
  /** Indices of the GPU work it launched, in order of start. Empty: it synchronizes. */
  readonly works: number[];
}
