import type { MemoryStack } from '../model/memory-snapshot.js';
import type { Allocation } from './allocations.js';
import type { Phase, PhaseRun } from './phases.js';

/** What memory holds, in the order in which it is shown. */
export const MEMORY_KINDS = [
  'parameters',
  'gradients',
  'optimizer state',
  'activations',
  'temporaries',
  'kept from earlier steps',
  'from before the recording',
] as const;
export type MemoryKind = (typeof MEMORY_KINDS)[number];

const REDUCER = /(?:^|[\\/])torch[\\/]nn[\\/]parallel[\\/]distributed\.py$/;

/** By where it was made and how long it lived. Activations that outlive their step are `kept` from its end on. */
export function kindOf(
  allocation: Allocation,
  stack: MemoryStack | undefined,
  phase: Phase | undefined,
  runs: readonly PhaseRun[],
): MemoryKind {
  const { start, end } = allocation;
  if (stack?.accumulates && start < 0) return 'gradients';
  if (!stack || phase === undefined || start < 0) return keptKind(stack, phase);
  const run = lastBefore(runs, start, (r) => r.first);
  const next = runs[run + 1]?.first ?? Infinity;
  const isKept = end > next;
  if (REDUCER.test(stack.frames[0]?.file ?? '')) return 'gradients';
  if (phase === 'set-up') return isKept ? 'parameters' : 'temporaries';
  if (phase === 'optimizer') return isKept ? 'optimizer state' : 'temporaries';
  if (phase === 'backward') return isKept || stack.accumulates ? 'gradients' : 'temporaries';
  // Nothing follows the last forward pass, so what it freed may have been kept for a backward pass.
  return isKept || next === Infinity ? 'activations' : 'temporaries';
}

/**
 * Some optimizers make parameters anew instead of changing them: `p.data = p.data - update`. What the optimizer makes last in
 * the step before a parameter of the same size is freed takes its place, and is itself replaced in the next step.
 */
export function withReplaced(
  all: readonly Allocation[],
  kinds: readonly MemoryKind[],
  steps: readonly number[],
): readonly MemoryKind[] {
  const changed = [...kinds];
  const stepAt = (event: number) => lastBefore(steps, event, (s) => s);
  const byStart = all.flatMap((_, i) => (kinds[i] === 'optimizer state' ? [i] : []));
  const byEnd = all
    .flatMap((a, i) => (/^(?:parameters|optimizer state)$/.test(kinds[i]!) && a.end < Infinity ? [i] : []))
    .sort((a, b) => all[a]!.end - all[b]!.end);
  const made = new Map<number, number[]>();
  let next = 0;
  for (const freed of byEnd) {
    const { end, bytes } = all[freed]!;
    for (; next < byStart.length && all[byStart[next]!]!.start < end; next++) {
      const one = byStart[next]!;
      const same = made.get(all[one]!.bytes) ?? [];
      made.set(all[one]!.bytes, [...same.slice(1 - MOST_CANDIDATES), one]);
    }
    if (changed[freed] !== 'parameters') continue;
    const step = stepAt(end);
    const heir = made
      .get(bytes)
      ?.findLast(
        (i) => changed[i] === 'optimizer state' && all[i]!.end > end && stepAt(all[i]!.start) === step,
      );
    if (heir !== undefined) changed[heir] = 'parameters';
  }
  return changed;
}
/** Of one size, so that a recording with a million allocations of one size is not searched again and again. */
const MOST_CANDIDATES = 16;

/** Of what was there from the start only some stacks are known. */
function keptKind(stack: MemoryStack | undefined, phase: Phase | undefined): MemoryKind {
  if (!stack || (stack.frames.length === 0 && !stack.inBackward)) return 'from before the recording';
  if (phase === 'set-up') return 'parameters';
  if (phase === 'optimizer') return 'optimizer state';
  return phase === 'backward' ? 'gradients' : 'from before the recording';
}

/** Index of the last element at or before a position; -1: none. */
export function lastBefore<T>(sorted: readonly T[], position: number, of: (one: T) => number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (of(sorted[middle]!) <= position) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
