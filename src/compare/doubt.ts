import type { RunProfile } from './run-profile.js';

/**
 * The estimated part of a step that a profiler slowed: what is left of it is 1.2 times less or more in one host-bound loop of
 * five (replay/recording-cost.ts). Where half of it is left, that is 0.22 of what was taken off, or 1.28 standard errors.
 */
const PER_CORRECTION = 0.22 / 1.28;

/** How far the step times of a side may be off together, because the profiler's cost is only estimated. A share. */
export function doubtOf(runs: readonly RunProfile[]): number {
  const corrections = runs.map(({ report: { step } }) =>
    step.corrected && step.ms !== null && step.ms > 0 && step.profiled_ms !== null
      ? Math.max(0, step.profiled_ms / step.ms - 1)
      : 0,
  );
  return (PER_CORRECTION * corrections.reduce((sum, c) => sum + c, 0)) / Math.max(1, corrections.length);
}
