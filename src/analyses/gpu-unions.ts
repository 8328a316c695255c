import { lengthOf, type Spans, SpanUnion, subtract, union } from '../base/intervals.js';
import type { Trace } from '../model/trace.js';
import type { KernelKind } from './kernels/kernel-kind.js';
import type { GpuWork } from './timeline/gpu-work.js';

/** Unions over all GPU work in the file, as HTA's temporal breakdown has them. ns. */
export interface GpuUnions {
  readonly span: number;
  readonly compute: number;
  /** Communication, copies and fills outside computation. */
  readonly nonCompute: number;
  readonly idle: number;
  /** Share of communication that computation covers; null without communication. */
  readonly commOverlap: number | null;
}

export function gpuUnions(trace: Trace, work: GpuWork, kinds: readonly (KernelKind | undefined)[]): GpuUnions | null {
  if (work.length === 0) return null;
  const compute = new SpanUnion();
  const comms = new SpanUnion();
  const moves = new SpanUnion();
  let last = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < work.length; i++) {
    const kind = kinds[trace.data.name[work.row[i]!]!];
    const into = kind?.class === 'comms' ? comms : kind?.source === 'runtime' ? moves : compute;
    into.add(work.start[i]!, work.end[i]!);
    if (work.end[i]! > last) last = work.end[i]!;
  }
  const [computing, communicating] = [compute.finish(), comms.finish()];
  const busy: Spans = union(union(computing, communicating), moves.finish());
  const span = last - work.start[0]!;
  const computeNs = lengthOf(computing);
  const commsNs = lengthOf(communicating);
  return {
    span,
    compute: computeNs,
    nonCompute: lengthOf(busy) - computeNs,
    idle: span - lengthOf(busy),
    commOverlap: commsNs === 0 ? null : 1 - lengthOf(subtract(communicating, computing)) / commsNs,
  };
}
