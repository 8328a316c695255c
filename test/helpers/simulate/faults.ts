import type { Group, Layout } from './layout.js';
import type { Fault, FaultKind, Settings } from './options.js';
import type { WorkPlan } from './work-plan.js';

/** A fault's part in one step of one rank; µs, except the factor on its kernels. */
export interface StepFaults {
  readonly kernelFactor: number;
  readonly dataUs: number;
  readonly hostUs: number;
  readonly compileUs: number;
  readonly gcUs: number;
}

const HEALTHY: StepFaults = { kernelFactor: 1, dataUs: 0, hostUs: 0, compileUs: 0, gcUs: 0 };

export interface FaultPlan {
  hits(step: number): boolean;
  /** Ranks that are late in a step. */
  lateRanks(step: number): readonly number[];
  /** The group with the slow link. */
  readonly group: Group | null;
  of(rank: number, step: number): StepFaults;
  /** Added to what a group's transfers take in a step. */
  linkUs(group: Group, step: number): number;
}

export function planFaults(
  settings: Settings,
  layout: Layout,
  work: WorkPlan,
  fault: Fault | null,
): FaultPlan {
  if (!fault)
    return { hits: () => false, lateRanks: () => [], group: null, of: () => HEALTHY, linkUs: () => 0 };
  const extraUs = fault.size * settings.stepMs * 1000;
  const group = fault.kind === 'link' ? layout.groupOf(fault.ranks[0] ?? 0, work.bulkAxis) : null;
  const late = stepFaults(fault.kind, extraUs, work.computeUs);
  const hits = (step: number) => hitsStep(fault, step, settings.steps);
  const lateRanks = (step: number): readonly number[] => {
    if (fault.kind === 'link' || !hits(step)) return [];
    return fault.kind === 'rotating' ? [rotated(settings, fault, step)] : fault.ranks;
  };
  const byStep = Array.from({ length: settings.steps }, (_, step) => new Set(lateRanks(step)));
  return {
    hits,
    lateRanks,
    group,
    of: (rank, step) => (byStep[step]!.has(rank) ? late : HEALTHY),
    linkUs: (g, step) => (g === group && hits(step) ? extraUs : 0),
  };
}

/** A rotating imbalance is more work for the GPU: longer sequences, popular experts. */
function stepFaults(kind: FaultKind, extraUs: number, computeUs: number): StepFaults {
  switch (kind) {
    case 'gpu':
    case 'clock':
    case 'rotating':
      return { ...HEALTHY, kernelFactor: 1 + extraUs / computeUs };
    case 'data':
      return { ...HEALTHY, dataUs: extraUs };
    case 'host':
      return { ...HEALTHY, hostUs: extraUs };
    case 'compile':
      return { ...HEALTHY, compileUs: extraUs };
    case 'gc':
      return { ...HEALTHY, gcUs: extraUs };
    case 'link':
      return HEALTHY;
  }
}

function hitsStep(fault: Fault, step: number, steps: number): boolean {
  if (fault.kind === 'rotating') return true;
  if (fault.pattern === 'spike') return step === (fault.at ?? Math.floor(steps / 2));
  if (fault.pattern === 'periodic') {
    const period = fault.period ?? 3;
    return step % period === period - 1;
  }
  return true;
}

/** A different rank each step; all take turns in a shuffled order. */
function rotated({ seed, ranks }: Settings, fault: Fault, step: number): number {
  const pool = fault.ranks.length > 0 ? fault.ranks : Array.from({ length: ranks }, (_, r) => r);
  const n = pool.length;
  let stride = 1 + (Math.abs(seed) % n);
  while (n > 1 && greatestCommonDivisor(stride, n) !== 1) stride++;
  return pool[(Math.abs(seed) + step * stride) % n]!;
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
